import { resolve } from 'node:path';
import type { Store } from '../store.ts';
import { startThread } from './start-thread.ts';

export interface SqliteOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
}

/** Opens the embedded store. Rejects when the file cannot be used: not a database, of another program, too new. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<Store> {
  const thread = await startThread(resolve(path), options.deadlineMs ?? 250);
  return {
    keys: {
      findKey: (digest) => thread.call('findKey', digest),
      putKey: (record, digests) => thread.call('putKey', record, digests),
    },
    ping: () => thread.call('ping'),
    close: () => thread.close(),
  };
}
