import { Line, type Spot } from '../collections/line.ts';

/** One who wants a seat. `hasSeat` and `spot` are set by `Seats` alone. */
export interface Guest {
  hasSeat: boolean;
  /** Its place in the line, if it had to wait. */
  spot: Spot<Waiting> | undefined;
  /** Ends its wait in line: the target cannot be used, for this reason. */
  turnAway(reason: Error): void;
}

interface Waiting {
  readonly guest: Guest;
  readonly start: () => void;
}

/** The connections that one way to the target keeps for later requests. */
export interface KeptConnections {
  readonly count: number;
  closeOne(): void;
}

/** Shorter than servers commonly keep an idle connection, so that they seldom close one under a request. */
export const idleMsMax = 4000;

/**
 * For how long a connection is kept that is always in use. By then the name of the target may lead elsewhere, or to more servers than
 * before, and the new ones would get nothing. The last minute is left to chance: otherwise connections that were opened together would
 * be opened anew together, which are more than many a server lets wait.
 */
export function chooseAgeMsMax(): number {
  return 240_000 + Math.random() * 60_000;
}

/**
 * The connections to one target, and the line of guests that wait for one: first come, first served. The line is ours because the
 * libraries keep what waits in theirs, with its body, even when nobody wants it any more: clients that ask and leave would fill the
 * memory while an upstream stands still.
 */
export class Seats {
  /** A count, not a set of holders: the collector keeps alive what has left a long-lived set, and takes five times as long. */
  #free: number;
  readonly #line = new Line<Waiting>();
  #waiting = 0;
  readonly #kept: KeptConnections[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** How many guests must leave before a newcomer gets a seat. */
  get ahead(): number {
    return this.#free > 0 ? 0 : this.#waiting + 1;
  }

  /** Registers kept connections: open, but without a seat. */
  watch(kept: KeptConnections): void {
    this.#kept.push(kept);
  }

  /**
   * Call it with a seat in hand, just before connecting. A kept connection is closed if there would be more connections than seats:
   * a server that does one thing at a time would not look at the new one until the kept one is gone.
   */
  makeRoom(): void {
    const count = this.#kept.reduce((sum, kept) => sum + kept.count, 0);
    if (count > this.#free) this.#kept.find((kept) => kept.count > 0)?.closeOne();
  }

  /** Calls `start` once there is a seat, which the guest has until it leaves. */
  take(guest: Guest, start: () => void): void {
    if (this.#free === 0) {
      guest.spot = this.#line.join({ guest, start });
      this.#waiting += 1;
      return;
    }
    this.#free -= 1;
    guest.hasSeat = true;
    start();
  }

  /** Takes a guest out of the line; false if it was not waiting. */
  giveUp(guest: Guest): boolean {
    const left = guest.spot?.leave() ?? false;
    if (left) this.#waiting -= 1;
    return left;
  }

  /** Passes the guest's seat to the next in line; does nothing if it has none. */
  leave(guest: Guest): void {
    if (!guest.hasSeat) return;
    guest.hasSeat = false;
    const next = this.#line.takeFirst();
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting -= 1;
    next.guest.hasSeat = true;
    next.start();
  }

  /** Sends everyone in line away. */
  turnAway(reason: Error): void {
    for (const { guest } of this.#line.guests()) guest.turnAway(reason);
  }
}
