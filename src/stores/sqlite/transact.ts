import type { DatabaseSync } from 'node:sqlite';

/** What became of one of many that ran as one transaction. */
export type Outcome<T> = { readonly answer: T } | { readonly error: unknown };

/**
 * Runs the work as one transaction that has the write lock from its start, so it never fails halfway for a lock. Within another it is
 * a part of that.
 */
export function transact<T>(database: DatabaseSync, work: () => T): T {
  if (database.isTransaction) return work();
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

/** Runs several as one transaction. Of those nothing is left that fail; nothing is left of any when it throws. */
export function transactAll<T>(database: DatabaseSync, works: readonly (() => T)[]): readonly Outcome<T>[] {
  try {
    return transact(database, () => works.map((work) => ({ answer: work() })));
  } catch {
    // Seldom, so only now each is set apart from the others, which costs it copies of pages.
    return transact(database, () => works.map((work) => runApart(database, work)));
  }
}

function runApart<T>(database: DatabaseSync, work: () => T): Outcome<T> {
  database.exec('SAVEPOINT apart'); // until the commit
  try {
    return { answer: work() };
  } catch (error) {
    // With the whole transaction all that ran before it has gone.
    if (!database.isTransaction) throw error;
    database.exec('ROLLBACK TO apart');
    return { error };
  }
}
