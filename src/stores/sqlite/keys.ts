import type { DatabaseSync } from 'node:sqlite';
import { decodeKeyRecord, encodeKeyRecord } from '../key-record.ts';
import type { KeyRecord } from '../store.ts';
import { transact } from './transact.ts';

/** The key store's calls, each of them synchronous. */
export interface KeyCalls {
  findKey(digest: string): KeyRecord | undefined;
  putKey(record: KeyRecord, digests: readonly string[]): void;
}

/** Prepares the statements for keys. */
export function prepareKeys(database: DatabaseSync): KeyCalls {
  const find = database.prepare('SELECT record FROM secrets JOIN keys ON id = key WHERE digest = ?');
  const forget = database.prepare('DELETE FROM secrets WHERE key = ?');
  const put = database.prepare(
    'INSERT INTO keys VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record',
  );
  const own = database.prepare(
    'INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO UPDATE SET key = excluded.key',
  );
  return {
    findKey(digest) {
      const row = find.get(digest);
      return row === undefined ? undefined : decodeKeyRecord(String(row['record']));
    },
    putKey(record, digests) {
      transact(database, () => {
        put.run(record.id, encodeKeyRecord(record));
        forget.run(record.id);
        for (const digest of digests) own.run(digest, record.id);
      });
    },
  };
}
