import { lstatSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isEmpty } from './create-database.ts';
import { isBusy } from './failures.ts';
import { migrations } from './migrations.ts';
import { refuseFull, refuseReadOnly } from './refuse-unwritable.ts';
import { transact } from './transact.ts';

/** 'Gate' in ASCII: tells our files from those of other programs. */
const applicationId = 0x47_61_74_65;

/** How long opening may wait, before the gateway serves, for other processes that open or migrate the same file. */
const openTimeoutMs = 5000;
const openPauseMs = 5;

/**
 * Opens the file, brings its tables up to date and returns the connection. What it throws is for `describeFailure`. A
 * missing file is an error: one that vanishes under a running gateway must not come back empty, with every quota unspent.
 * At the start there is time to wait for others that migrate; later, nothing may block the event loop.
 */
export function openDatabase(path: string, { patient, create }: Opening): DatabaseSync {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(whyNotThere(path));
  if (!found.isFile())
    throw new Error(found.isDirectory() ? 'it is a directory' : 'it is not a regular file');
  // A failed copy leaves this behind. Made into a database, it would be another one, with every quota unspent.
  if (isEmpty(found.size) && !create) throw new Error('it is empty');
  refuseReadOnly(path);
  refuseFull(path);
  return patient ? connectPatiently(path) : connect(path);
}

/**
 * Processes that open one file by different names see nothing of what the others count, and damage it
 * (https://sqlite.org/howtocorrupt.html §2.5). Throws before it comes to that.
 */
export function refuseSecondName(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() && found.nlink > 1)
    throw new Error('it has a second name (a hard link), and each would have a log of its own');
}

function whyNotThere(path: string): string {
  // None is made through a link: the volume that it leads to may only be missing.
  const link = lstatSync(path, { throwIfNoEntry: false });
  return link === undefined ? 'there is no such file' : 'it is a link to a file that is not there';
}

export interface Opening {
  readonly patient: boolean;
  /** Whether an empty file may become a database. */
  readonly create: boolean;
}

/** Prepares to read what tells a database from another that took its place. */
export function prepareIdentity(database: DatabaseSync): () => string {
  const find = database.prepare('SELECT id FROM identity');
  return () => String(find.get()?.['id']);
}

/** Writes into the first page that the file is ours. Repeated, it changes nothing but is still written. */
export function markAsOurs(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${applicationId}`);
}

/** SQLite's own timeout would not do: of two processes that switch a new file to WAL at once one is told at once that it is locked. */
function connectPatiently(path: string): DatabaseSync {
  const giveUpAt = performance.now() + openTimeoutMs;
  for (;;) {
    try {
      return connect(path);
    } catch (error) {
      if (!isBusy(error) || performance.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, openPauseMs);
    }
  }
}

function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(existing(path));
  try {
    refuseForeignFile(database);
    // NORMAL in WAL mode survives kill -9 whole. A power cut may lose the last commits, never the file's integrity.
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY');
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The address of a file that is opened but never made: one that was deleted must not come back with every quota unspent. */
export function existing(path: string): URL {
  const address = pathToFileURL(path);
  address.searchParams.set('mode', 'rw');
  return address;
}

function refuseForeignFile(database: DatabaseSync): void {
  // Read in one transaction: another process may be making the tables at this moment.
  database.exec('BEGIN');
  const id = pragma(database, 'application_id');
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
  database.exec('COMMIT');
  if (id === applicationId || (id === 0 && tables?.['tables'] === 0)) return;
  throw new Error('it is a database of another program');
}

function migrate(database: DatabaseSync): void {
  if (pragma(database, 'user_version') === migrations.length) return;
  transact(database, () => {
    // Read again under the lock: another process may have migrated in the meantime.
    const version = pragma(database, 'user_version');
    if (version > migrations.length) {
      const known = `version ${version}, this one knows up to ${migrations.length}`;
      throw new Error(`it was written by a newer Gatehouse (${known})`);
    }
    for (const migration of migrations.slice(version)) database.exec(migration);
    markAsOurs(database);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
