import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreUnavailable } from '../ledger.ts';
import type { StoreOptions } from '../store.ts';
import { prepareCalls } from './calls.ts';
import type { Calls } from './calls.ts';
import { createDatabase, describeFailure, isBusy, openDatabase, prepareIdentity } from './database.ts';

/** The open file, opened again after it has failed. */
export interface Connection {
  readonly identity: string;
  /** Runs a call. Throws `Locked` when another process holds the lock, with nothing changed; else `StoreUnavailable`. */
  run<T>(call: (calls: Calls) => T): T;
  /** Closes the file if what lies at the path is not it any more. False when the next call must open another. */
  checkPlace(): boolean;
  close(): void;
}

/** Another connection holds the lock that a call needs. */
export class Locked extends Error {}

/** How long a file that could not be opened again is left alone. */
const REOPEN_AFTER_MS = 100;

/** How often a file in use is looked for in its place. */
const LOOK_EVERY_MS = 1_000;

interface Open {
  readonly database: DatabaseSync;
  readonly identity: string;
  readonly readIdentity: () => string;
  readonly calls: Calls;
  readonly inode: number;
}

/** Opens the file. Later it is opened again, but never made, and never another in its place. */
export function openConnection(
  path: string,
  { create = true, identity: known, onCreate }: StoreOptions,
): Connection {
  const isNew = create && known === undefined && createDatabase(path);
  const first = connect(path, { identity: known, patient: true });
  if (isNew) onCreate?.(path);
  const { identity } = first;
  let open: Open | undefined = first;
  let lookedAt = performance.now();
  let failure: { readonly error: StoreUnavailable; readonly at: number } | undefined;

  function reopen(): Open {
    if (failure !== undefined && performance.now() - failure.at < REOPEN_AFTER_MS) throw failure.error;
    try {
      open = connect(path, { identity, patient: false });
      return open;
    } catch (error) {
      failure = { error: describeFailure(error, `cannot open ${path}`), at: performance.now() };
      throw failure.error;
    }
  }

  function checkPlace(): boolean {
    lookedAt = performance.now();
    if (open !== undefined && !isInPlace(open)) close();
    return open !== undefined;
  }

  function isInPlace({ inode, readIdentity }: Open): boolean {
    try {
      // SQLite goes on writing to a file that was deleted or replaced, and all of that would be lost.
      if (statSync(path).ino !== inode) return false;
      // Its own `.restore` copies another database into the same file.
      return readIdentity() === identity;
    } catch (error) {
      return isBusy(error);
    }
  }

  function close(): void {
    try {
      open?.database.close();
    } catch {
      // Whatever is wrong with the file is reported by the next call.
    }
    open = undefined;
  }

  return {
    identity,
    checkPlace,
    run(call) {
      if (performance.now() - lookedAt >= LOOK_EVERY_MS) checkPlace();
      const { calls } = open ?? reopen();
      try {
        return call(calls);
      } catch (error) {
        if (isBusy(error)) throw new Locked();
        // After an error of the disk or the file it is opened anew: it may have been mended or mounted again.
        if (!(error instanceof StoreUnavailable)) close();
        throw describeFailure(error, 'the database cannot answer');
      }
    },
    close,
  };
}

function connect(path: string, how: { identity: string | undefined; patient: boolean }): Open {
  const database = openDatabase(path, how);
  try {
    const readIdentity = prepareIdentity(database);
    const identity = readIdentity();
    // In another one every quota would be unspent, and every key unknown.
    if (identity !== (how.identity ?? identity)) throw anotherDatabase(path);
    const { ino: inode } = statSync(path);
    return { database, identity, readIdentity, calls: prepareCalls(database), inode };
  } catch (error) {
    database.close();
    throw describeFailure(error, `cannot open ${path}`);
  }
}

function anotherDatabase(path: string): StoreUnavailable {
  return new StoreUnavailable(`${path} is not the database that it was at the start`, {
    mayHaveHappened: false,
  });
}
