import { ADDRCONFIG, lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { afterReading } from '../when-all-is-read.ts';

type Tell = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

/** Asks the system for the addresses of a name. It cannot be broken off. */
export type Ask = (name: string, tell: Tell) => void;

/** How long a name that had addresses is waited for before those are used again. */
export const patienceMs = 250;

/**
 * Finds the addresses of targets. The system answers two questions at a time, and one about a name whose resolver is silent takes
 * it 10 s and more. So no name is asked for twice at the same time, however many connections wait for it, or one dead name
 * would keep all the others from being found; and a name that had addresses keeps them while no answer comes, which also bounds
 * what two dead names do.
 */
export function createLookUp(ask: Ask): LookupFunction {
  const names = new Map<string, Name>();
  return function lookUp(host, { all }, callback) {
    let name = names.get(host);
    if (name === undefined) names.set(host, (name = new Name(host, ask)));
    name.find((error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) callback(error ?? notFound(host), '');
      else if (all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

/** Shared by all connections to targets. The hint is Node's own: a host without IPv6 is not made to wait for such addresses. */
export const lookUp: LookupFunction = createLookUp((name, tell) => {
  lookup(name, { all: true, hints: ADDRCONFIG }, (error, addresses) =>
    tell(error, error === null ? addresses : []),
  );
});

// --- Internal ---

class Name {
  readonly #host: string;
  readonly #ask: Ask;
  /** Undefined when nothing is asked. */
  #waiting: Tell[] | undefined;
  #last: readonly LookupAddress[] | undefined;
  #isOverdue = false;

  constructor(host: string, ask: Ask) {
    this.#host = host;
    this.#ask = ask;
  }

  find(tell: Tell): void {
    const last = this.#last;
    if (this.#isOverdue && last !== undefined) {
      queueMicrotask(() => tell(null, last));
      return;
    }
    if (this.#waiting !== undefined) {
      this.#waiting.push(tell);
      return;
    }
    this.#waiting = [tell];
    const stopWaiting = afterReading(patienceMs, () => this.#waitNoLonger());
    this.#ask(this.#host, (error, addresses) => {
      stopWaiting();
      this.#answer(error, addresses);
    });
  }

  #answer(error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#isOverdue = false;
    // Only a resolver that says that there is no such name knows anything of it; all other errors are the resolver's, or ours.
    if (error === null) this.#last = addresses;
    else if (error.code === 'ENOTFOUND') this.#last = undefined;
    const isKnown = this.#last !== undefined;
    for (const tell of waiting) tell(isKnown ? null : error, this.#last ?? []);
  }

  #waitNoLonger(): void {
    this.#isOverdue = true;
    const last = this.#last;
    if (last === undefined) return;
    for (const tell of this.#waiting?.splice(0) ?? []) tell(null, last);
  }
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
}
