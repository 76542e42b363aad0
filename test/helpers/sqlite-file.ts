import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import type { Store, StoreOptions } from '../../src/stores/store.ts';
import type { Scene } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** A database of the test's own, open until its end. */
export function ownDatabase(t: Scene, options?: StoreOptions): { path: string; store: Store } {
  const path = join(tempFolder(t), 'g.db');
  const store = openSqlite(path, options);
  t.after(() => store.close());
  return { path, store };
}

/** Why a store does not answer; undefined when it does. */
export function failureOf(store: Store): Promise<string | undefined> {
  return store.ping().then(
    () => undefined,
    (error: Error) => error.message,
  );
}

/** Deletes a database with all that lies beside it. */
export function removeStore(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

/** What `.restore` of SQLite's own shell does. */
export async function restore(from: string, to: string): Promise<void> {
  const database = new DatabaseSync(from);
  await backup(database, to);
  database.close();
}

/** Runs statements of somebody else on the file, and hands over the connection. */
export function sql(path: string, statement: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(statement);
  return database;
}
