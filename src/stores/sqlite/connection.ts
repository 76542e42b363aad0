import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreUnavailable } from '../ledger.ts';
import { prepareCalls } from './calls.ts';
import type { Calls } from './calls.ts';
import { describeFailure, isBusy, openDatabase } from './database.ts';

/** The open file, opened again after it has failed. */
export interface Connection {
  /** Runs a call. Throws `Locked` when another process holds the lock, with nothing changed; else `StoreUnavailable`. */
  run<T>(call: (calls: Calls) => T): T;
  /** Closes the file if it is not the one any more that lies at the path. False when the next call must open another. */
  checkPlace(): boolean;
  close(): void;
}

/** Another connection holds the lock that a call needs. */
export class Locked extends Error {}

/** How long a file that could not be opened again is left alone. */
const REOPEN_AFTER_MS = 100;

interface Open {
  readonly database: DatabaseSync;
  readonly calls: Calls;
  readonly inode: number;
}

/** Opens the file, and creates it if it is not there. */
export function openConnection(path: string): Connection {
  let open: Open | undefined = connect(path, true);
  let failure: { readonly error: StoreUnavailable; readonly at: number } | undefined;

  function reopen(): Open {
    if (failure !== undefined && performance.now() - failure.at < REOPEN_AFTER_MS) throw failure.error;
    try {
      open = connect(path, false);
      return open;
    } catch (error) {
      failure = { error: describeFailure(error, `cannot open ${path}`), at: performance.now() };
      throw failure.error;
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
    run(call) {
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
    checkPlace() {
      // SQLite goes on writing to a file that was deleted or replaced, and all of that would be lost.
      if (open !== undefined && statSync(path, { throwIfNoEntry: false })?.ino !== open.inode) close();
      return open !== undefined;
    },
    close,
  };
}

function connect(path: string, create: boolean): Open {
  const database = openDatabase(path, { create });
  return { database, calls: prepareCalls(database), inode: statSync(path).ino };
}
