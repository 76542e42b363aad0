import { unavailable } from '../store-unavailable.ts';
import { Locked } from './connection.ts';

/** At most this many calls wait for the lock; further ones are refused at once. */
const waitingMax = 1000;
/** Calls that had to wait run together for at most this long before the event loop gets its turn. */
const turnMs = 2;

interface Waiting {
  readonly deadline: number;
  /** False when it has to be tried again. */
  readonly attempt: () => boolean;
  readonly giveUp: () => void;
}

export type LockLine = ReturnType<typeof createLockLine>;

/**
 * Where calls stand in line for the lock of the file. Each runs at once, or as soon as the lock is free, and gives up at its
 * deadline. It never blocks the thread.
 */
export function createLockLine(deadlineMs: number) {
  const line: Waiting[] = [];

  function start<T>(work: () => T, mayBypass: boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const attempt = (): boolean => settles(work, resolve, reject);
    // Only the first in line tries, or a thousand calls would ask for the same lock a thousand times.
    if ((mayBypass || line.length === 0) && attempt()) return promise;
    const giveUp = (): void => reject(unavailable(`the database was locked for ${deadlineMs} ms`));
    if (line.length >= waitingMax) {
      reject(unavailable('too many calls wait for the database'));
      return promise;
    }
    line.push({ deadline: performance.now() + deadlineMs, attempt, giveUp });
    if (line.length === 1) tryLater();
    return promise;
  }

  function tryLater(): void {
    // Jitter keeps processes that wait for one lock from meeting again.
    setTimeout(takeTurn, 1 + Math.random() * 3);
  }

  /** Comes after a try for the lock, so that no call is refused only because this thread was held up too long. */
  function giveUpLate(): void {
    const now = performance.now();
    for (let first = line[0]; first !== undefined && now >= first.deadline; first = line[0]) {
      first.giveUp();
      line.shift();
    }
  }

  function takeTurn(): void {
    const started = performance.now();
    for (let first = line[0]; first !== undefined; first = line[0]) {
      if (performance.now() - started > turnMs) break;
      if (!first.attempt()) {
        giveUpLate();
        break;
      }
      line.shift();
    }
    if (line.length > 0) tryLater();
  }

  return {
    /** For work that needs the lock: it waits in line behind the others. */
    wait: <T>(work: () => T): Promise<T> => start(work, false),
    /** For work that only reads: writers' locks do not affect it, so it bypasses the line. */
    bypass: <T>(work: () => T): Promise<T> => start(work, true),
  };
}

/** False while the lock is held by another, and nothing has been done. */
function settles<T>(work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): boolean {
  try {
    resolve(work());
  } catch (error) {
    if (error instanceof Locked) return false;
    reject(error);
  }
  return true;
}
