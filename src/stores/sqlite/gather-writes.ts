import { slicesOf } from '../../collections/slices.ts';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';
import type { Calls } from './calls.ts';
import type { Connection } from './connection.ts';
import type { LockLine } from './lock-line.ts';
import type { Outcome } from './transact.ts';

/** Runs a call that writes, before the deadline. One that writes as much as many others says how many. */
export type Write = <T>(call: (calls: Calls) => T, worth?: number) => Promise<T>;

interface WritesOptions {
  readonly connection: Pick<Connection, 'runAll'>;
  readonly lockLine: Pick<LockLine, 'wait'>;
  readonly onWritten: (worth: number) => void;
}

/** At most this many share a transaction: while it runs neither the event loop nor another process gets a turn. */
const togetherMax = 64;

interface Gathered {
  readonly call: (calls: Calls) => unknown;
  readonly worth: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * All writes of one turn of the event loop are one transaction: a commit costs as much as the rest of a call, and many calls
 * change the same pages. No call is answered before the commit, and a failing call fails alone.
 */
export function gatherWrites({ connection, lockLine, onWritten }: WritesOptions): Write {
  let gathered: Gathered[] = [];

  function write<T>(call: (calls: Calls) => T, worth = 1): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (gathered.length === 0) whenAllIsRead(writeGathered);
    gathered.push({ call, worth, resolve: resolve as (answer: unknown) => void, reject });
    return promise;
  }

  function writeGathered(): void {
    const all = gathered;
    gathered = [];
    for (const some of slicesOf(all, togetherMax)) void writeTogether(some);
  }

  async function writeTogether(some: readonly Gathered[]): Promise<void> {
    try {
      const outcomes = await lockLine.wait(() => connection.runAll(some.map(({ call }) => call)));
      for (const [index, outcome] of outcomes.entries()) tell(some[index] as Gathered, outcome);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  function tell({ worth, resolve, reject }: Gathered, outcome: Outcome<unknown>): void {
    if ('error' in outcome) {
      reject(outcome.error);
      return;
    }
    // What failed wrote nothing, and the file may be another program's by now.
    onWritten(worth);
    resolve(outcome.answer);
  }

  return write;
}
