import { slicesOf } from '../collections/slices.ts';
import type { StaticKey } from '../config/config.ts';
import type { KeyStore } from '../stores/key-store.ts';
import { ifReadable } from '../stores/store-unavailable.ts';

const keysAtOnce = 32;

/** The ids of keys in the store that have the id or the secret of a key in the file; revoked ones do not count. */
export async function findKeysInBoth(
  keys: readonly Pick<StaticKey, 'id' | 'digest'>[],
  store: Pick<KeyStore, 'readKey' | 'findKey'>,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const some of slicesOf(keys, keysAtOnce)) {
    const records = some.flatMap(({ id, digest }) => [
      store.readKey(id).then((known) => known?.record),
      store.findKey(digest),
    ]);
    for (const record of await Promise.all(records.map(ifReadable))) {
      if (record !== undefined && record.revokedAt === undefined) found.add(record.id);
    }
  }
  return [...found];
}
