import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Copies the write-ahead log back into the database file from time to time, on a thread that lives only for that. */
export interface Checkpointer {
  /** Told of every call; after enough of them a checkpoint is started. */
  count(): void;
  close(): Promise<void>;
}

/** At two or three pages a call the log stays around 40 MB. */
const callsPerCheckpoint = 4096;

/**
 * A checkpoint syncs the file and takes as long as the disk likes, which the thread that serves requests must not.
 * The thread is a few lines of plain SQL, kept as text so that it loads nothing else.
 */
export function createCheckpointer(path: string): Checkpointer {
  // A file that was deleted must not come back empty, with every quota unspent: `rw` never makes one.
  const address = `${pathToFileURL(path).href}?mode=rw`;
  let calls = 0;
  let running: Worker | undefined;

  function start(): void {
    running = new Worker(checkpoint, { eval: true, workerData: address, name: 'checkpoint', execArgv: [] });
    running.unref();
    running.once('exit', () => (running = undefined));
    // A checkpoint that failed is no loss: the log goes on growing until the next one succeeds.
    running.once('error', () => undefined);
  }

  return {
    count() {
      calls += 1;
      if (calls < callsPerCheckpoint || running !== undefined) return;
      calls = 0;
      start();
    },
    async close() {
      if (running !== undefined) await once(running, 'exit');
    },
  };
}

/** PASSIVE holds nobody up. A log past 64 MB that never gets to its end this way is finished with writers held. */
const checkpoint = `
  const { DatabaseSync } = require('node:sqlite');
  const { workerData } = require('node:worker_threads');
  const database = new DatabaseSync(new URL(workerData), { timeout: 1000 });
  const { log } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  if (log > 16384) database.exec('PRAGMA wal_checkpoint(RESTART)');
  database.close();
`;
