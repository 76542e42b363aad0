import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { StoreUnavailable } from '../ledger.ts';
import { prepareCalls, type Calls } from './calls.ts';
import { createCheckpointer } from './checkpointer.ts';
import { describeFailure, isBusy, openDatabase } from './database.ts';

/** The database as the rest of the process sees it: calls that answer in time or reject. */
export interface Connection {
  call<Name extends keyof Calls>(
    name: Name,
    ...args: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>>;
  close(): Promise<void>;
}

interface Open {
  readonly database: DatabaseSync;
  readonly calls: Calls;
  /** Tells the file from another that was put in its place. */
  readonly inode: number;
}

const lookEveryMs = 1000;

/**
 * Opens the database on the calling thread. A call takes some tens of microseconds: it never waits for a lock, because a
 * busy database is asked again later, nor for the disk, because commits of a WAL are not synced one by one and checkpoints
 * run elsewhere.
 */
export function openConnection(path: string, deadlineMs: number): Connection {
  let open: Open | undefined = connect(true);
  let closed = false;
  let lookedAt = performance.now();
  const checkpointer = createCheckpointer(path);

  function connect(create: boolean): Open {
    const database = openDatabase(path, { create });
    return { database, calls: prepareCalls(database), inode: statSync(path).ino };
  }

  /** After an error of the disk or the file, the next call opens it anew: it may have been mended or mounted again. */
  function disconnect(): void {
    try {
      open?.database.close();
    } catch {
      // Whatever is wrong with the file is reported by the next call.
    }
    open = undefined;
  }

  /** SQLite goes on writing to a file that was deleted or replaced, and all of that would be lost. */
  function lookAtFile(): void {
    if (open === undefined || performance.now() - lookedAt < lookEveryMs) return;
    lookedAt = performance.now();
    if (statSync(path, { throwIfNoEntry: false })?.ino !== open.inode) disconnect();
  }

  function attempt(name: keyof Calls, args: readonly unknown[]): unknown {
    if (closed) throw unavailable('the database is closed');
    try {
      lookAtFile();
      open ??= connect(false);
      const run = open.calls[name] as (...args: readonly unknown[]) => unknown;
      return run(...args);
    } catch (error) {
      if (isBusy(error)) return busy;
      if (!(error instanceof StoreUnavailable)) disconnect();
      throw describeFailure(error, 'the database cannot answer');
    }
  }

  /** A call that met a lock changed nothing, so the whole of it is repeated, with jitter, until the deadline. */
  async function call(name: keyof Calls, ...args: readonly unknown[]): Promise<unknown> {
    const deadline = performance.now() + deadlineMs;
    for (;;) {
      const value = attempt(name, args);
      if (value !== busy) {
        checkpointer.count();
        return value;
      }
      if (performance.now() >= deadline) throw unavailable(`the database was locked for ${deadlineMs} ms`);
      await wait(1 + Math.random() * 2);
    }
  }

  return {
    call: call as Connection['call'],
    async close() {
      closed = true;
      await checkpointer.close();
      disconnect();
    },
  };
}

/** What an attempt gives when another connection holds the lock. */
const busy = Symbol('busy');

function unavailable(message: string): StoreUnavailable {
  return new StoreUnavailable(message, { mayHaveHappened: false });
}
