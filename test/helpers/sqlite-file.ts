import { rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';

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
