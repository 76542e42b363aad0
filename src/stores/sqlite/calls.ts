import type { DatabaseSync } from 'node:sqlite';
import { markAsOurs } from './database.ts';
import { prepareKeys, type KeyCalls } from './keys.ts';
import { prepareUnits, type UnitsCalls } from './ledger.ts';
import { preparePlaces, type PlaceCalls } from './places.ts';
import { prepareRates, type RateCalls } from './rates.ts';
import { transact } from './transact.ts';

/** Everything that can be asked of the database. Each call is one transaction, or a part of one, and none of them waits. */
export interface Calls extends KeyCalls, UnitsCalls, RateCalls, PlaceCalls {
  ping(): void;
  probe(): void;
}

export function prepareCalls(database: DatabaseSync): Calls {
  // The tables that every request needs, so a damaged one is noticed: only the version is in the first page.
  const tables = ['secrets', 'keys', 'counters'];
  const pings = tables.map((table) => database.prepare(`SELECT 1 FROM ${table} LIMIT 1`));
  return {
    ping() {
      for (const ping of pings) ping.get();
    },
    probe: () => transact(database, () => markAsOurs(database)),
    ...prepareKeys(database, Date.now),
    ...prepareUnits(database, Date.now),
    ...prepareRates(database, Date.now),
    ...preparePlaces(database, Date.now),
  };
}
