import { Worker } from 'node:worker_threads';
import { existing } from './database.ts';

/** Copies the write-ahead log back into the file now and then. */
export interface Checkpointer {
  /** To be told of each call that may write, and of one that writes like many as so many. */
  noteCalls(count: number): void;
}

/** A call writes about five pages, so the log grows to some 20 MB in between. */
export const CALLS_PER_CHECKPOINT = 1_024;
/** From this many pages on (64 MB) the log is started again even if that makes writers wait for a moment. */
const LOG_PAGES_MAX = 16_384;

/**
 * Runs on a thread of its own for as long as it takes. It is JavaScript in a string so that the thread loads nothing.
 * PASSIVE holds nobody up; where other processes write all the time it never reaches the end of the log, hence RESTART.
 * Whoever writes first after a complete checkpoint waits for another sync: the empty transaction does that here.
 * It reads the version that it writes again under the lock, because a newer Gatehouse may be migrating the file.
 */
const CHECKPOINT = `
  const { DatabaseSync } = require('node:sqlite');
  const { workerData } = require('node:worker_threads');
  try {
    const database = new DatabaseSync(new URL(workerData.address), { timeout: 50 });
    const { log, checkpointed } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    if (log > workerData.pagesMax && log > checkpointed) database.exec('PRAGMA wal_checkpoint(RESTART)');
    database.exec('BEGIN IMMEDIATE');
    const { user_version: version } = database.prepare('PRAGMA user_version').get();
    database.exec('PRAGMA user_version = ' + version + '; COMMIT');
    database.close();
  } catch {}
`;

/** Creates a checkpointer. A checkpoint that fails is tried again after as many calls. */
export function createCheckpointer(path: string): Checkpointer {
  let calls = 0;
  let running = false;
  return {
    noteCalls(count) {
      calls += count;
      if (calls < CALLS_PER_CHECKPOINT || running) return;
      calls = 0;
      running = true;
      const workerData = { address: existing(path).href, pagesMax: LOG_PAGES_MAX };
      const worker = new Worker(CHECKPOINT, {
        eval: true,
        workerData,
        name: 'checkpoint',
        execArgv: [],
        env: {},
      });
      // A process that has nothing else to do need not wait: the log is read again when the file is next opened.
      worker.unref();
      worker.on('error', () => (running = false));
      worker.on('exit', () => (running = false));
    },
  };
}
