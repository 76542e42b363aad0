import type { DatabaseSync } from 'node:sqlite';
import { markAsOurs } from './database.ts';
import { prepareKeys } from './keys.ts';
import { prepareUnits } from './ledger.ts';
import { preparePlaces } from './places.ts';
import { prepareRates } from './rates.ts';

export type Calls = ReturnType<typeof prepareCalls>;

/** Everything that can be asked of the database. None of it waits, and what writes is made a part of a transaction (gather-writes.ts). */
export function prepareCalls(database: DatabaseSync) {
  // The tables that every request needs, so a damaged one is noticed: only the version is in the first page.
  const tables = ['secrets', 'keys', 'counters'];
  const pings = tables.map((table) => database.prepare(`SELECT 1 FROM ${table} LIMIT 1`));
  return {
    ping(): void {
      for (const ping of pings) ping.get();
    },
    probe: (): void => markAsOurs(database),
    ...prepareKeys(database, Date.now),
    ...prepareUnits(database, Date.now),
    ...prepareRates(database, Date.now),
    ...preparePlaces(database, Date.now),
  };
}
