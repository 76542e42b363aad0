import type { DatabaseSync } from 'node:sqlite';
import { prepareKeys } from './keys.ts';
import type { KeyCalls } from './keys.ts';
import { prepareUnits } from './ledger.ts';
import type { UnitsCalls } from './ledger.ts';
import { preparePlaces } from './places.ts';
import type { PlaceCalls } from './places.ts';
import { prepareRates } from './rates.ts';
import type { RateCalls } from './rates.ts';

/** Everything that can be asked of the database's thread. */
export interface Calls extends KeyCalls, UnitsCalls, RateCalls, PlaceCalls {
  ping(): void;
}

/** One call on its way to the thread. */
export interface Question {
  readonly seq: number;
  readonly name: keyof Calls;
  readonly args: readonly unknown[];
  /** On `monotonicMs`, which both threads share: later than this nobody waits for the answer. */
  readonly deadline: number;
}

/** What the thread says: that it is ready, that it cannot start, or the answer to a question. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'answer'; readonly seq: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly seq: number; readonly message: string };

/** Prepares every statement on an open database. */
export function prepareCalls(database: DatabaseSync): Calls {
  const ping = database.prepare('PRAGMA user_version');
  return {
    ping: () => void ping.get(),
    ...prepareKeys(database),
    ...prepareUnits(database, Date.now),
    ...prepareRates(database, Date.now),
    ...preparePlaces(database, Date.now),
  };
}

/** A clock that never jumps and reads the same on all threads of the process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
