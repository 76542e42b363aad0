import { slicesOf } from '../collections/slices.ts';
import type { KeyStore } from '../stores/key-store.ts';

const keysAtOnce = 32;

/** Which of these ids of keys in the file belong to keys of the store as well; revoked ones do not count. */
export async function findKeysInBoth(
  ids: readonly string[],
  store: Pick<KeyStore, 'readKey'>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const some of slicesOf(ids, keysAtOnce)) {
    const known = await Promise.all(some.map((id) => store.readKey(id)));
    const records = known.flatMap((key) => key?.record ?? []);
    found.push(...records.filter(({ revokedAt }) => revokedAt === undefined).map(({ id }) => id));
  }
  return found;
}
