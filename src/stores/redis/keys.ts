import { decodeKeyRecord, encodeKeyRecord } from '../key-record.ts';
import type { KeyRecord, KeyStore } from '../store.ts';
import type { Link } from './link.ts';

/**
 * Keys in Redis. A digest points to a key's id, and the key's record lists its digests. The record decides: a pointer
 * that it does not list is void. So no two Redis keys have to change in one step, which a cluster could not do.
 */
export function createRedisKeys(link: Link, prefix: string): KeyStore {
  const pointerName = (digest: string): string => `${prefix}secret:${digest}`;
  const recordName = (id: string): string => `${prefix}key:${Buffer.from(id).toString('base64url')}`;
  const read = (name: string): Promise<string | null> => link.send(name, (redis) => redis.get(name));
  const write = (name: string, value: string): Promise<string> =>
    link.send(name, (redis) => redis.set(name, value));

  async function readKey(id: string): Promise<StoredKey | undefined> {
    const text = await read(recordName(id));
    if (text === null) return undefined;
    // The digests stand in the first line and the record in the second.
    const [digests = '', record = ''] = text.split('\n');
    return { record: decodeKeyRecord(record), digests: digests.split(' ') };
  }

  return {
    async findKey(digest) {
      const id = await read(pointerName(digest));
      const key = id === null ? undefined : await readKey(id);
      return key?.digests.includes(digest) === true ? key.record : undefined;
    },
    async putKey(record, digests) {
      const before = await readKey(record.id);
      for (const digest of digests) await write(pointerName(digest), record.id);
      await write(recordName(record.id), `${digests.join(' ')}\n${encodeKeyRecord(record)}`);
      for (const digest of before?.digests ?? []) {
        const name = pointerName(digest);
        if (digest !== '' && !digests.includes(digest)) await link.send(name, (redis) => redis.del(name));
      }
    },
  };
}

interface StoredKey {
  readonly record: KeyRecord;
  readonly digests: readonly string[];
}
