import { Worker } from 'node:worker_threads';
import { existing, SQLITE_BUSY } from './database.ts';

/** Copies the write-ahead log back into the file now and then. */
export interface Checkpointer {
  /** To be told of each call that may write, and of one that writes like many as so many. */
  noteCalls(count: number): void;
  /** Begins one now, unless one is running. */
  readonly begin: () => void;
  close(): void;
}

/** A call writes three or four pages, so the log grows by some 14 MB in between. */
export const callsPerCheckpoint = 1024;
/** Each process counts its own calls. Beyond this the log is copied as well if it grows, whoever writes: four processes filled 24 MB. */
export const logBytesUncopied = 16_777_216;
/** From this many pages on (64 MB) the log is started again even if that makes writers wait for a moment. */
const logPagesMax = 16_384;
/** How often that is tried before it is left to the next checkpoint: four processes that never rest brought the log to 400 MB. */
const restartsMax = 3;
/** What the log has grown to beyond this is cut off. It is no less, because to cut makes writers wait for longer. */
export const logBytesKept = 134_217_728;

/**
 * Runs on a thread of its own, for each message, for as long as it takes. It is JavaScript in a string so that the thread loads
 * nothing. PASSIVE holds nobody up, but the log starts again only if nobody has written meanwhile: under steady writes that takes
 * RESTART, which has little left to copy. It is tried again where others were faster, and not where somebody reads for long:
 * writers wait while it does, for 50 ms each time. Whoever writes first after a complete checkpoint waits for another sync, and
 * cuts the log: the empty transaction does that here. It reads the version that it writes again under the lock, because
 * a newer Gatehouse may be migrating the file. It tells why it could not, '' when it could, and undefined where others had the
 * lock, so that the next one will, or there is no file any more, which every call says. The file is opened
 * each time, for by then another may lie in its place.
 */
const checkpointSource = `
  const { existsSync } = require('node:fs');
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: address } = require('node:worker_threads');
  parentPort.on('message', () => parentPort.postMessage(checkpoint()));

  function checkpoint() {
    let database;
    try {
      database = new DatabaseSync(new URL(address), { timeout: 50 });
      copyLog(database);
      return '';
    } catch (error) {
      const isOthers = (error.errcode & 0xff) === ${SQLITE_BUSY} || !existsSync(new URL(address));
      return isOthers ? undefined : String(error.errstr ?? error.message);
    } finally {
      database?.close();
    }
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

/** A checkpoint that fails is tried again after as many calls, and told of unless the one before failed alike. */
export function createCheckpointer(
  path: string,
  onFailure: (reason: string) => void,
  startThread: (path: string) => Worker = startCheckpoint,
): Checkpointer {
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
  /** It stays for the next time: to start one takes 9 ms of CPU, as much as the calls in between take for their commits. */
  function openThread(): Worker {
    const opened = startThread(path);
    opened.on('message', tell);
    opened.on('error', tellError);
    opened.on('exit', () => {
      running = false;
      thread = undefined;
    });
    // A process that has nothing else to do need not wait: the log is read again when the file is next opened. Last, because a
    // listener for messages would hold the process after all.
    opened.unref();
    return opened;
  }
  function begin(): void {
    if (running) return;
    calls = 0;
    try {
      thread ??= openThread();
      thread.postMessage(undefined);
      running = true;
    } catch (error) {
      // There is no room for a thread, as in a container that may have so many of them. The call itself is none the worse.
      tellError(error);
    }
  }
  return {
    begin,
    noteCalls(count) {
      calls += count;
      if (calls >= callsPerCheckpoint) begin();
    },
    close() {
      // One that is stopped at work may take it for a failure, and nobody else should.
      thread?.removeAllListeners('message');
      void thread?.terminate();
    },
  };
}

/** Starts the thread that copies the log. */
export function startCheckpoint(path: string): Worker {
  return new Worker(checkpointSource, {
    eval: true,
    workerData: existing(path).href,
    name: 'checkpoint',
    execArgv: [],
    env: {},
  });
}
