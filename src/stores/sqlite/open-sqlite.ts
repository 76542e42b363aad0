import { resolve } from 'node:path';
import type { Ledger } from '../ledger.ts';
import { checkDraw, checkPace, checkUnits } from '../orders.ts';
import type { Store } from '../store.ts';
import { startThread } from './start-thread.ts';
import type { Thread } from './start-thread.ts';

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
    ledger: createLedger(thread),
    ping: () => thread.call('ping'),
    close: () => thread.close(),
  };
}

function createLedger(thread: Thread): Ledger {
  return {
    async draw(order) {
      checkDraw(order);
      return thread.call('draw', order);
    },
    async giveBack(order) {
      checkUnits(order);
      return thread.call('giveBack', order);
    },
    async charge(order) {
      checkUnits(order);
      return thread.call('charge', order);
    },
    async pace(order) {
      checkPace(order);
      return thread.call('pace', order);
    },
    cancelDraw: (order) => thread.call('cancelDraw', order),
    enter: (order) => thread.call('enter', order),
    stay: (order) => thread.call('stay', order),
    leave: (keyId, placeId) => thread.call('leave', keyId, placeId),
    readUsage: (keyId, counters) => thread.call('readUsage', keyId, counters),
    resetUsage: (keyId, counters) => thread.call('resetUsage', keyId, counters),
  };
}
