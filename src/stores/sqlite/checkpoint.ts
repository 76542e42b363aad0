import type { Stats } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { existing } from './database.ts';
import { SQLITE_BUSY } from './failures.ts';

/** A call by itself writes about three pages; in a busy moment calls share pages. The log grows by 2 to 13 MB in between. */
export const callsPerCheckpoint = 1024;
/** Each process counts only its own calls, so a log that has grown beyond this is copied as well, whoever writes. */
export const logBytesUncopied = 16_777_216;
/** Whether the log has grown beyond that. One that starts again after it was copied keeps its size, and does not grow. */
export function hasOutgrown(now: Stats | undefined, before: Stats | undefined): boolean {
  return now !== undefined && now.size > Math.max(logBytesUncopied, before?.size ?? 0);
}

/** From this many pages on (64 MB) the log is started again even if that makes writers wait for a moment. */
const logPagesMax = 16_384;
/** How often that is tried before it is left to the next checkpoint. */
const restartsMax = 3;
/** A log beyond this is cut back to it. It is not lower, because cutting makes writers wait longer. */
export const logBytesKept = 134_217_728;

/**
 * Runs on a thread of its own, once per message, for as long as it takes. It is JavaScript in a string so that the thread loads
 * nothing. It answers why it failed, '' when it did not, and undefined where the next one will do it, because others had the lock,
 * or where the file is no longer in its place, which every call reports.
 * - The file is looked at first: SQLite would copy the log into another file that lies there, and delete it.
 * - PASSIVE holds nobody up, but the log starts again only if nobody has written meanwhile. Under steady writes that takes RESTART.
 *   It is tried again where other writers were faster, but not where a long read is in the way: writers wait 50 ms each time.
 * - The first write after a complete checkpoint waits for another sync, and cuts the log. The transaction at the end is that write.
 *   It writes the version that it has read under the lock, because a newer Gatehouse may be migrating the file.
 */
const checkpointSource = `
  const { statSync } = require('node:fs');
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: address } = require('node:worker_threads');
  parentPort.on('message', (file) => parentPort.postMessage(checkpoint(file)));

  function checkpoint(file) {
    if (!isInPlace(file)) return undefined;
    let database;
    try {
      database = new DatabaseSync(new URL(address), { timeout: 50 });
      copyLog(database);
      return '';
    } catch (error) {
      const isOthers = (error.errcode & 0xff) === ${SQLITE_BUSY} || !isInPlace(file);
      return isOthers ? undefined : String(error.errstr ?? error.message);
    } finally {
      database?.close();
    }
  }

  function isInPlace({ dev, ino }) {
    const now = statSync(new URL(address), { throwIfNoEntry: false });
    return now?.dev === dev && now?.ino === ino;
  }

  function copyLog(database) {
    database.exec('PRAGMA journal_size_limit = ${logBytesKept}');
    const { log } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    const restart = database.prepare('PRAGMA wal_checkpoint(RESTART)');
    for (let i = 0; log > ${logPagesMax} && i < ${restartsMax}; i += 1) {
      const row = restart.get();
      if (row.busy === 0 || row.checkpointed < row.log) break;
    }
    database.exec('BEGIN IMMEDIATE');
    const { user_version: version } = database.prepare('PRAGMA user_version').get();
    database.exec('PRAGMA user_version = ' + version + '; COMMIT');
  }
`;

interface CheckpointOptions {
  /** The file that calls are using, whatever lies at the path; undefined = none. */
  readonly fileInUse: () => Pick<Stats, 'dev' | 'ino'> | undefined;
  readonly onFailure: (reason: string) => void;
  readonly startThread?: (path: string) => Worker;
}

/**
 * Copies the write-ahead log back into the file now and then. A checkpoint that failed is tried again after as many calls, and
 * reported unless the previous one failed the same way.
 */
export function createCheckpointer(
  path: string,
  { fileInUse, onFailure, startThread = startCheckpoint }: CheckpointOptions,
) {
  let calls = 0;
  let running = false;
  let told = '';
  let thread: Worker | undefined;
  function tell(reason: string | undefined): void {
    running = false;
    if (reason === undefined) return;
    if (reason !== '' && reason !== told) onFailure(reason);
    told = reason;
  }
  function tellError(error: unknown): void {
    tell(error instanceof Error ? error.message : String(error));
  }
  /** It stays for the next time: starting one takes 9 ms of CPU, as much as the commits of the calls in between. */
  function openThread(): Worker {
    const opened = startThread(path);
    opened.on('message', tell);
    opened.on('error', tellError);
    opened.on('exit', () => {
      running = false;
      thread = undefined;
    });
    // A process that has nothing else to do need not wait: the log is read again when the file is next opened. Last, because a
    // listener for messages would keep the process alive after all.
    opened.unref();
    return opened;
  }
  function begin(): void {
    const file = fileInUse();
    if (running || file === undefined) return;
    calls = 0;
    try {
      thread ??= openThread();
      thread.postMessage({ dev: file.dev, ino: file.ino });
      running = true;
    } catch (error) {
      // No thread can be started, as in a container that limits them. The call itself is unaffected.
      tellError(error);
    }
  }
  return {
    begin,
    /** Must be told of each call that may write; one that writes as much as many counts as that many. */
    noteCalls(count: number): void {
      calls += count;
      if (calls >= callsPerCheckpoint) begin();
    },
    close(): void {
      // A thread stopped at work may take that for a failure; it must not be reported.
      thread?.removeAllListeners('message');
      void thread?.terminate();
    },
  };
}

export function startCheckpoint(path: string): Worker {
  return new Worker(checkpointSource, {
    eval: true,
    workerData: existing(path).href,
    name: 'checkpoint',
    execArgv: [],
    env: {},
  });
}
