import { resolve } from 'node:path';
import type { Ledger } from '../ledger.ts';
import { checkDraw, checkPace, checkUnits } from '../orders.ts';
import type { Store } from '../store.ts';
import { openConnection, type Connection } from './connection.ts';

export interface SqliteOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
}

/** Opens the embedded store. Rejects when the file cannot be used: not a database, of another program, too new. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<Store> {
  const connection = openConnection(resolve(path), options.deadlineMs ?? 250);
  return {
    keys: {
      findKey: (digest) => connection.call('findKey', digest),
      putKey: (record, digests) => connection.call('putKey', record, digests),
    },
    ledger: createLedger(connection),
    ping: () => connection.call('ping'),
    close: () => connection.close(),
  };
}

function createLedger(connection: Connection): Ledger {
  return {
    async draw(order) {
      checkDraw(order);
      return connection.call('draw', order);
    },
    async giveBack(order) {
      checkUnits(order);
      return connection.call('giveBack', order);
    },
    async charge(order) {
      checkUnits(order);
      return connection.call('charge', order);
    },
    async pace(order) {
      checkPace(order);
      return connection.call('pace', order);
    },
    cancelDraw: (order) => connection.call('cancelDraw', order),
    enter: (order) => connection.call('enter', order),
    stay: (order) => connection.call('stay', order),
    leave: (keyId, placeId) => connection.call('leave', keyId, placeId),
    readUsage: (keyId, counters) => connection.call('readUsage', keyId, counters),
    resetUsage: (keyId, counters) => connection.call('resetUsage', keyId, counters),
  };
}
