import type { DatabaseSync } from 'node:sqlite';
import { isBusy } from './failures.ts';

/** The same calls, each of which has its answer before it returns. */
export type Synchronous<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer
    : never;
};

export type Outcome<T> = { readonly answer: T } | { readonly error: unknown };

/** Runs the work as one transaction that has the write lock from its start, so it never fails halfway for a lock. */
export function transact<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some errors, a full disk among them.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Runs several as one transaction. Those that fail leave nothing behind; when it throws, none does. */
export function transactAll<T>(database: DatabaseSync, works: readonly (() => T)[]): readonly Outcome<T>[] {
  try {
    return transact(database, () => works.map((work) => ({ answer: work() })));
  } catch (error) {
    // None of them has failed, nor could any do better now.
    if (isBusy(error)) throw error;
    // Rare, so only now is each isolated from the others, which costs copies of pages.
    return transact(database, () => works.map((work) => runApart(database, work)));
  }
}

function runApart<T>(database: DatabaseSync, work: () => T): Outcome<T> {
  database.exec('SAVEPOINT apart'); // until the commit
  try {
    return { answer: work() };
  } catch (error) {
    // The whole transaction is gone, with all that ran before.
    if (!database.isTransaction) throw error;
    database.exec('ROLLBACK TO apart');
    return { error };
  }
}
