import { codeOf } from '../../content/error-code.ts';
import { StoreUnavailable, unavailable, Unreadable } from '../store-unavailable.ts';
import { noRoomLeft } from './refuse-unwritable.ts';

export const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
const SQLITE_IOERR_WRITE = 778;
const SQLITE_NOTADB = 26;
/** The log ends before the index of it does. SQLite takes a file that is too short for one that is damaged. */
const SQLITE_IOERR_SHORT_READ = 522;
/** The -shm could not be made as long as it has to be. */
const SQLITE_IOERR_SHMSIZE = 4874;

/** True when another connection holds the lock that the call needed; nothing was changed then. */
export function isBusy(error: unknown): boolean {
  // The low byte is the primary code; BUSY_SNAPSHOT and BUSY_RECOVERY are extensions of it.
  return isSqliteError(error) && (error.errcode & 0xff) === SQLITE_BUSY;
}

/**
 * True when there may be no room for what was to be written. Nothing was. SQLite calls only ENOSPC a full disk: where a quota of
 * the disk is used up, or a file may not be longer, a write has failed.
 */
export function mayLackRoom(error: unknown): boolean {
  return isFull(error) || (isSqliteError(error) && error.errcode === SQLITE_IOERR_WRITE);
}

/** True when the file or its disk may be at fault, so that opening it again may help. */
export function mayBeTheFile(error: unknown): boolean {
  return isSqliteError(error) && !isFull(error);
}

function isFull(error: unknown): boolean {
  return isSqliteError(error) && error.errcode === SQLITE_FULL;
}

/** Turns what SQLite throws into a `StoreUnavailable`. Its messages name tables and paths, never values. */
export function describeFailure(error: unknown, what: string): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  // What `node:sqlite` says about an integer beyond 2^53, which nothing here writes.
  if (codeOf(error) === 'ERR_OUT_OF_RANGE') {
    return new Unreadable(`${what}: it holds a number that cannot be counted exactly`);
  }
  if (isSqliteError(error) && error.errcode === SQLITE_NOTADB) {
    return unavailable(`${what}: it is not a SQLite database`);
  }
  if (isSqliteError(error) && error.errcode === SQLITE_IOERR_SHORT_READ) {
    return unavailable(`${what}: its -wal was removed or cut while others had it open`);
  }
  if (isSqliteError(error) && error.errcode === SQLITE_IOERR_SHMSIZE) {
    return unavailable(`${what}: ${noRoomLeft}`);
  }
  const reason = isSqliteError(error) ? error.errstr : error instanceof Error ? error.message : 'unknown';
  return unavailable(`${what}: ${reason}`);
}

interface SqliteError extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && 'errstr' in error;
}
