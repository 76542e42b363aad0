import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../ledger.ts';
import { monotonicMs } from './calls.ts';
import type { Calls, Question, Report } from './calls.ts';

/** The database's thread as the rest of the process sees it: calls that answer in time or reject. */
export interface Thread {
  call<Name extends keyof Calls>(
    name: Name,
    ...args: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>>;
  close(): Promise<void>;
}

/** More questions than this without an answer mean that the disk hangs; further ones are refused at once. */
const UNANSWERED_MAX = 1_000;
const CLOSE_TIMEOUT_MS = 2_000;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: StoreUnavailable) => void;
}

/** Starts the thread and resolves when the database is open. */
export async function startThread(path: string, deadlineMs: number): Promise<Thread> {
  // Questions stay in the map until the thread has answered them, even when nobody waits any more.
  const unanswered = new Map<number, Waiting>();
  let seq = 0;
  let dead: string | undefined;

  const worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: path,
    name: 'sqlite',
    execArgv: [],
  });
  worker.on('message', (report: Report) => settle(unanswered, report));
  worker.on('error', (error: Error) => bury(error.message));
  worker.on('exit', () => bury('it has ended'));
  await ready(worker);
  // A call's deadline timer keeps the process alive while somebody waits; the idle thread must not.
  worker.unref();

  function bury(reason: string): void {
    dead ??= `the database's thread is gone: ${reason}`;
    for (const waiting of unanswered.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(new StoreUnavailable(dead, { mayHaveHappened: true }));
    }
    unanswered.clear();
  }

  function call(name: keyof Calls, ...args: readonly unknown[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (dead !== undefined || unanswered.size >= UNANSWERED_MAX) {
      const reason = dead ?? 'the database does not keep up';
      reject(new StoreUnavailable(reason, { mayHaveHappened: false }));
      return promise;
    }
    seq += 1;
    const question: Question = { seq, name, args, deadline: monotonicMs() + deadlineMs };
    const timer = setTimeout(() => {
      reject(
        new StoreUnavailable(`the database did not answer within ${deadlineMs} ms`, {
          mayHaveHappened: true,
        }),
      );
    }, deadlineMs);
    unanswered.set(seq, { timer, resolve, reject });
    worker.postMessage(question);
    return promise;
  }

  async function close(): Promise<void> {
    if (dead !== undefined) return;
    worker.ref();
    worker.postMessage('close');
    const timer = setTimeout(() => void worker.terminate(), CLOSE_TIMEOUT_MS);
    await once(worker, 'exit');
    clearTimeout(timer);
  }

  return { call: call as Thread['call'], close };
}

async function ready(worker: Worker): Promise<void> {
  const [report] = (await once(worker, 'message')) as [Report];
  if (report.kind !== 'failed') return;
  await worker.terminate();
  throw new StoreUnavailable(report.message, { mayHaveHappened: false });
}

function settle(unanswered: Map<number, Waiting>, report: Report): void {
  if (report.kind !== 'answer' && report.kind !== 'refusal') return;
  const waiting = unanswered.get(report.seq);
  if (waiting === undefined) return;
  unanswered.delete(report.seq);
  clearTimeout(waiting.timer);
  if (report.kind === 'answer') waiting.resolve(report.value);
  else waiting.reject(new StoreUnavailable(report.message, { mayHaveHappened: false }));
}
