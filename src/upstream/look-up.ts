import { ADDRCONFIG, lookup, type LookupAddress } from 'node:dns';
import type { EventEmitter } from 'node:events';
import type { LookupFunction } from 'node:net';
import { Turns } from '../waiting/turns.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';

type Tell = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

/** A look-up like Node's, but it returns a function that ends the wait for it. */
type LookUp = (...args: Parameters<LookupFunction>) => () => void;

/** Asks the system for the addresses of a name. It cannot be cancelled. */
export type Ask = (name: string, tell: Tell) => void;

/** How long we wait for a name that had addresses before we use those again. */
export const patienceMs = 250;

/** A name whose answer took this long will hardly have a quicker one next. */
export const slowMs = 1000;

/**
 * Finds the addresses of targets. The system answers two questions at a time, and takes 10 s and more for a name whose resolver is
 * silent. So no name is asked for twice at the same time, however many connections wait for it, or one dead name would keep all the
 * others from being found. Of the dead names only one is asked for at a time: the other place is for all that can be answered, the name
 * of the store among it. And a name that had addresses keeps them while no answer comes.
 */
export function createLookUp(ask: Ask): LookUp {
  const names = new Map<string, Name>();
  const slowNames = new Turns(1);
  return function lookUp(host, { all }, callback) {
    const name = names.getOrInsertComputed(host, () => new Name(host, ask, slowNames));
    return name.find((error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) callback(error ?? notFound(host), '');
      else if (all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Opens a connection to a target. It stops waiting for the addresses once it is no longer wanted, or a silent resolver would hold
 * on to all that belongs to each request given up meanwhile.
 */
export function openByName<Connection extends EventEmitter>(
  open: (lookup: LookupFunction) => Connection,
): Connection {
  let leave: (() => void) | undefined;
  const connection = open((host, options, callback) => {
    leave = lookUp(host, options, (error, address, family) => {
      leave = undefined;
      callback(error, address, family);
    });
  });
  return connection.once('close', () => leave?.());
}

/** Shared by all connections to targets. The hint is Node's own: a host without IPv6 is not made to wait for such addresses. */
const lookUp = createLookUp((name, tell) => {
  lookup(name, { all: true, hints: ADDRCONFIG }, tell);
});

class Name {
  readonly #host: string;
  readonly #ask: Ask;
  readonly #slowNames: Turns;
  #isSlow = false;
  /** Undefined when nothing is asked. */
  #waiting: Set<Tell> | undefined;
  #last: readonly LookupAddress[] | undefined;
  #isOverdue = false;

  constructor(host: string, ask: Ask, slowNames: Turns) {
    this.#host = host;
    this.#ask = ask;
    this.#slowNames = slowNames;
  }

  /** Returns a function that ends the wait. */
  find(tell: Tell): () => void {
    const last = this.#last;
    if (this.#isOverdue && last !== undefined) {
      queueMicrotask(() => tell(null, last));
      return leaveNothing;
    }
    const waiting = this.#waiting ?? new Set();
    waiting.add(tell);
    if (this.#waiting === undefined) this.#askFor(waiting);
    return () => void waiting.delete(tell);
  }

  #askFor(waiting: Set<Tell>): void {
    this.#waiting = waiting;
    const stopWaiting = afterReading(patienceMs, () => this.#waitNoLonger(waiting));
    const ask = (): Promise<void> =>
      new Promise((resolve) => {
        const askedAt = performance.now();
        this.#ask(this.#host, (error, addresses) => {
          resolve();
          stopWaiting();
          this.#isSlow = performance.now() - askedAt >= slowMs;
          this.#answer(waiting, error, addresses);
        });
      });
    if (this.#isSlow) void this.#slowNames.run(ask);
    else void ask();
  }

  #answer(
    waiting: Set<Tell>,
    error: NodeJS.ErrnoException | null,
    addresses: readonly LookupAddress[],
  ): void {
    this.#waiting = undefined;
    this.#isOverdue = false;
    // Only the answer that there is no such name says anything about it; all other errors are the resolver's, or ours.
    if (error === null) this.#last = addresses;
    else if (error.code === 'ENOTFOUND') this.#last = undefined;
    const isKnown = this.#last !== undefined;
    for (const tell of waiting) tell(isKnown ? null : error, this.#last ?? []);
  }

  #waitNoLonger(waiting: Set<Tell>): void {
    this.#isOverdue = true;
    const last = this.#last;
    if (last === undefined) return;
    for (const tell of waiting) tell(null, last);
    waiting.clear();
  }
}

function leaveNothing(): void {}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
}
