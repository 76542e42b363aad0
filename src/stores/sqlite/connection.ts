import type { Stats } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { unavailable, type StoreUnavailable } from '../store-unavailable.ts';
import type { StoreOptions } from '../store.ts';
import { prepareCalls, type Calls } from './calls.ts';
import { hasOutgrown } from './checkpoint.ts';
import { createDatabase } from './create-database.ts';
import { openDatabase, prepareIdentity, refuseSecondName, type Opening } from './database.ts';
import { describeFailure, isBusy, mayBeTheFile, mayLackRoom } from './failures.ts';
import { isSame, lookAt, refuseForeignLog } from './seen-files.ts';
import { transactAll, type Outcome } from './transact.ts';

/** The open file, opened again after it has failed. */
export type Connection = ReturnType<typeof openConnection>;

/** Another connection holds the lock that a call needs. */
export class Locked extends Error {}

/** How long a file that could not be opened again is left alone. */
const reopenAfterMs = 100;

/** How often a file in use is checked to be in its place. */
const lookEveryMs = 1000;

interface Open {
  readonly database: DatabaseSync;
  readonly identity: string;
  readonly readIdentity: () => string;
  readonly calls: Calls;
  readonly openedAt: number;
}

/**
 * Opens the file. Later it may be opened again, but never made, nor another in its place. `copyLog` is called, at most once a
 * second, when there is no room, and when the log has grown beyond what it should.
 */
export function openConnection(
  path: string,
  { create = true, identity: known, onCreate, onLogRemoved }: StoreOptions,
  copyLog: () => void,
) {
  const isNew = create && known === undefined && createDatabase(path);
  const first = openFirst(path, { create: create && known === undefined, identity: known });
  if (isNew) onCreate?.(path);
  const { identity } = first;
  let open: Open | undefined = first;
  /** The file as it was last seen in its place, and what belongs to it. */
  let seen = lookAt(path);
  let isLogRemoved = false;
  let lookedAt = performance.now();
  let askedForRoomAt = -Infinity;
  let failure: { readonly error: StoreUnavailable; readonly at: number } | undefined;

  function reopen(): Open {
    if (failure !== undefined && performance.now() - failure.at < reopenAfterMs) throw failure.error;
    try {
      refuseForeignLog(path, seen);
      open = connect(path, { identity, patient: false, create: false });
      seen = lookAt(path);
      isLogRemoved = false;
      return open;
    } catch (error) {
      if (isBusy(error)) throw new Locked();
      failure = { error: describeFailure(error, `cannot open ${path}`), at: performance.now() };
      throw failure.error;
    }
  }

  /** Closes the file if it is no longer the one at the path. False when the next call must open another. */
  function checkPlace(): boolean {
    lookedAt = performance.now();
    if (open !== undefined && !isInPlace(open)) close();
    return open !== undefined;
  }

  function isInPlace({ readIdentity }: Open): boolean {
    try {
      // SQLite goes on writing to a file that was deleted or replaced, and all of that would be lost.
      const now = lookAt(path);
      if (!isSame(now.file, seen.file)) return false;
      if (!isSame(now.log, seen.log) || !isSame(now.index, seen.index)) noteRemoval();
      if (hasOutgrown(now.log, seen.log)) copyLog();
      seen = now;
      // SQLite's own `.restore` copies another database into the same file.
      return readIdentity() === identity;
    } catch (error) {
      return isBusy(error);
    }
  }

  /**
   * SQLite removes nothing beside a file that is open, and does not notice who does. Calls go on with what was removed, and the
   * last to close copies it. Until then a log at its path is that of others.
   */
  function noteRemoval(): void {
    if (!isLogRemoved) onLogRemoved?.();
    isLogRemoved = true;
  }

  /** Where the log itself has filled the disk, copying it into the file gives its room back. */
  function askForRoom(): void {
    if (performance.now() - askedForRoomAt < lookEveryMs) return;
    askedForRoomAt = performance.now();
    copyLog();
  }

  function close(): void {
    open?.database.close();
    open = undefined;
  }

  function run<T>(work: (open: Open) => T): T {
    if (performance.now() - lookedAt >= lookEveryMs) checkPlace();
    const current = open ?? reopen();
    try {
      return work(current);
    } catch (error) {
      if (isBusy(error)) throw new Locked();
      throw failed(error);
    }
  }

  function failed(error: unknown): StoreUnavailable {
    if (mayLackRoom(error)) askForRoom();
    // After an error of the disk or the file it is opened again: it may have been repaired or remounted. Not after every error: the
    // last to close a file copies all of its log first, and the first to open it reads it again.
    const openForMs = performance.now() - (open?.openedAt ?? Infinity);
    if (mayBeTheFile(error) && openForMs >= lookEveryMs) close();
    return describeFailure(error, 'the database cannot answer');
  }

  return {
    identity,
    /** The file, if its log may be copied into it; undefined when no file is open, or the log at its path is not its own. */
    get file(): Stats | undefined {
      return open === undefined || isLogRemoved ? undefined : seen.file;
    },
    checkPlace,
    /** Runs a call. Throws `Locked` when another process holds the lock, with nothing changed; else `StoreUnavailable`. */
    run: <T>(call: (calls: Calls) => T): T => run(({ calls }) => call(calls)),
    /** The same for several, as one transaction in which a failing one fails alone. Throws when nothing of any was done. */
    runAll<T>(works: readonly ((calls: Calls) => T)[]): readonly Outcome<T>[] {
      const outcomes = run(({ database, calls }) => {
        const bound = works.map((work) => () => work(calls));
        return transactAll(database, bound);
      });
      return outcomes.map((outcome) => ('error' in outcome ? { error: failed(outcome.error) } : outcome));
    },
    close,
  };
}

function openFirst(path: string, how: Omit<Connecting, 'patient'>): Open {
  try {
    // A worker goes on with what its leader has open: whoever comes by the other name is refused.
    if (how.identity === undefined) refuseSecondName(path);
    return connect(path, { ...how, patient: true });
  } catch (error) {
    throw describeFailure(error, `cannot open ${path}`);
  }
}

interface Connecting extends Opening {
  /** The identity that the database must have; undefined when any will do. */
  readonly identity: string | undefined;
}

function connect(path: string, how: Connecting): Open {
  const database = openDatabase(path, how);
  try {
    const readIdentity = prepareIdentity(database);
    const identity = readIdentity();
    // In another one every quota would be unspent, and every key unknown.
    if (identity !== (how.identity ?? identity))
      throw unavailable(`${path} is not the database that it was at the start`);
    const calls = prepareCalls(database);
    return { database, identity, readIdentity, calls, openedAt: performance.now() };
  } catch (error) {
    database.close();
    throw error;
  }
}
