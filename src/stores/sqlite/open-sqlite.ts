import { resolve } from 'node:path';
import type { Ledger } from '../ledger.ts';
import { checkDraw, checkPace, checkUnits } from '../orders.ts';
import type { KeyRecord, Store } from '../store.ts';
import type { Calls } from './calls.ts';
import { createCheckpointer } from './checkpoint.ts';
import { openConnection } from './connection.ts';
import { createPatience } from './patience.ts';

export interface SqliteOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
}

/** Runs a call on the file, in time. */
type Ask = <T>(call: (calls: Calls) => T) => Promise<T>;

/** Opens the embedded store. Throws when the file cannot be used: not a database, of another program, too new. */
export function openSqlite(path: string, { deadlineMs = 250 }: SqliteOptions = {}): Store {
  const file = resolve(path);
  const connection = openConnection(file);
  const checkpointer = createCheckpointer(file, () => void connection.checkPlace());
  const patience = createPatience(deadlineMs);

  function read<T>(call: (calls: Calls) => T): Promise<T> {
    return patience.pass(() => connection.run(call));
  }

  function write<T>(call: (calls: Calls) => T): Promise<T> {
    checkpointer.noteCall();
    return patience.run(() => connection.run(call));
  }

  /** In a file that was deleted or replaced no key is unknown: it is looked up once more, in the one at the path. */
  async function findKey(digest: string): Promise<KeyRecord | undefined> {
    const found = await read((calls) => calls.findKey(digest));
    if (found !== undefined || connection.checkPlace()) return found;
    return read((calls) => calls.findKey(digest));
  }

  async function ping(): Promise<void> {
    connection.checkPlace();
    await read((calls) => calls.ping());
  }

  return {
    keys: {
      findKey,
      putKey: (record, digests) => write((calls) => calls.putKey(record, digests)),
    },
    ledger: createLedger(read, write),
    ping,
    close: async () => connection.close(),
  };
}

function createLedger(read: Ask, write: Ask): Ledger {
  return {
    async draw(order) {
      checkDraw(order);
      return write((calls) => calls.draw(order));
    },
    async giveBack(order) {
      checkUnits(order);
      return write((calls) => calls.giveBack(order));
    },
    async charge(order) {
      checkUnits(order);
      return write((calls) => calls.charge(order));
    },
    async pace(order) {
      checkPace(order);
      return write((calls) => calls.pace(order));
    },
    cancelDraw: (order) => write((calls) => calls.cancelDraw(order)),
    enter: (order) => write((calls) => calls.enter(order)),
    stay: (order) => write((calls) => calls.stay(order)),
    leave: (keyId, placeId) => write((calls) => calls.leave(keyId, placeId)),
    readUsage: (keyId, counters) => read((calls) => calls.readUsage(keyId, counters)),
    resetUsage: (keyId, counters) => write((calls) => calls.resetUsage(keyId, counters)),
  };
}
