import { parentPort, workerData } from 'node:worker_threads';
import type { DatabaseSync } from 'node:sqlite';
import { StoreUnavailable } from '../ledger.ts';
import { monotonicMs, prepareCalls } from './calls.ts';
import type { Calls, Question, Report } from './calls.ts';
import { describeFailure, isBusy, openDatabase } from './database.ts';

// The database lives on a thread of its own. SQLite is synchronous: a commit that waits for the disk, a checkpoint's
// fsync or a lock held by another process would otherwise stop every request of the gateway.

/** How many calls that wrote may pass before the log is copied back into the file. */
const CALLS_PER_CHECKPOINT = 256;
/** From this many pages on (16 MB) the log is started again even if that makes writers wait for a moment. */
const LOG_PAGES_MAX = 4_096;

const path = String(workerData);
const pause = new Int32Array(new SharedArrayBuffer(4));
let open: { database: DatabaseSync; calls: Calls } | undefined;
let callsSinceCheckpoint = 0;

try {
  open = connect(true);
  listen();
  report({ kind: 'ready' });
} catch (error) {
  report({ kind: 'failed', message: describeFailure(error, `cannot open ${path}`).message });
}

function listen(): void {
  parentPort?.on('message', (message: Question | 'close') => {
    if (message === 'close') close();
    else answer(message);
  });
}

function connect(create: boolean): { database: DatabaseSync; calls: Calls } {
  const database = openDatabase(path, { create });
  return { database, calls: prepareCalls(database) };
}

function answer(question: Question): void {
  const { seq } = question;
  try {
    report({ kind: 'answer', seq, value: runUntilDeadline(question) });
  } catch (error) {
    report({ kind: 'refusal', seq, message: describeFailure(error, 'the database cannot answer').message });
    if (!isBusy(error) && !(error instanceof StoreUnavailable)) disconnect();
  }
  callsSinceCheckpoint += 1;
  if (callsSinceCheckpoint >= CALLS_PER_CHECKPOINT) checkpoint();
}

/** A call that met a lock changed nothing, so the whole of it is repeated, with jitter, while somebody waits for it. */
function runUntilDeadline({ name, args, deadline }: Question): unknown {
  for (;;) {
    if (monotonicMs() >= deadline) throw unavailable('the database was locked or slow until the deadline');
    try {
      open ??= connect(false);
      const call = open.calls[name] as (...args: readonly unknown[]) => unknown;
      return call(...args);
    } catch (error) {
      if (!isBusy(error)) throw error;
      Atomics.wait(pause, 0, 0, 0.2 + Math.random());
    }
  }
}

/**
 * Copies the log back into the file after an answer has left, because the fsyncs take as long as the disk likes.
 * PASSIVE holds nobody up; where other processes write all the time it never reaches the end of the log, so a log that
 * has grown large is finished with the write lock held.
 */
function checkpoint(): void {
  callsSinceCheckpoint = 0;
  try {
    const row = open?.database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
    if (Number(row?.['log']) > LOG_PAGES_MAX) open?.database.exec('PRAGMA wal_checkpoint(RESTART)');
  } catch (error) {
    if (!isBusy(error)) disconnect();
  }
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

function close(): void {
  disconnect();
  parentPort?.close();
}

function unavailable(message: string): StoreUnavailable {
  return new StoreUnavailable(message, { mayHaveHappened: false });
}

function report(message: Report): void {
  parentPort?.postMessage(message);
}
