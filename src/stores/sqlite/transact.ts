import type { DatabaseSync } from 'node:sqlite';

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
