import { Line, type Spot } from '../collections/line.ts';

/** Who wants a seat. The seats alone set where it is. */
export interface Guest {
  /** Its seat, and whether it had to wait for it. */
  seat: 'at once' | 'after a wait' | undefined;
  spot: Spot<Waiting> | undefined;
  /** Ends its wait for this reason. */
  breakOff(reason: Error): void;
}

/** Who stands in line. */
interface Waiting {
  readonly guest: Guest;
  readonly start: () => void;
}

/** Connections of one way to the target that are kept for later requests. */
export interface KeptConnections {
  readonly count: number;
  closeOne(): void;
}

/** Less than what servers commonly keep an idle connection, so that they seldom close one under a request. */
export const idleMsMax = 4000;

/**
 * The connections to one target, and the line of those who wait for one: first come, first served. The line is ours because
 * the libraries keep what waits in theirs, with its body, also when nobody wants it any more: clients that ask and
 * leave would fill the memory while an upstream stands still.
 */
export class Seats {
  /**
   * A number and not a set of who has one: from a set that lives long the collector takes also those for living that have left
   * it, and spends five times as long.
   */
  #free: number;
  readonly #line = new Line<Waiting>();
  #waiting = 0;
  readonly #kept: KeptConnections[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** How many must leave before who comes now has a seat. */
  get ahead(): number {
    return this.#free > 0 ? 0 : this.#waiting + 1;
  }

  /** Has the seats know of connections that are open and have none. */
  watch(kept: KeptConnections): void {
    this.#kept.push(kept);
  }

  /**
   * To be called by who has a seat and is about to make a connection. One that is kept is closed if there would be more of them
   * than seats: a server that does one thing at a time would not look at the new one before that is gone.
   */
  makeRoom(): void {
    const count = this.#kept.reduce((sum, kept) => sum + kept.count, 0);
    if (count > this.#free) this.#kept.find((kept) => kept.count > 0)?.closeOne();
  }

  /** Calls `start` once there is a seat, which is the guest's until it leaves. */
  take(guest: Guest, start: () => void): void {
    if (this.#free === 0) {
      guest.spot = this.#line.join({ guest, start });
      this.#waiting += 1;
      return;
    }
    this.#free -= 1;
    guest.seat = 'at once';
    start();
  }

  /** Who gives up stands in line no longer. True when they did. */
  giveUp(guest: Guest): boolean {
    const left = guest.spot?.leave() ?? false;
    if (left) this.#waiting -= 1;
    return left;
  }

  /** The seat is the next one's. Nothing if the guest has none. */
  leave(guest: Guest): void {
    if (guest.seat === undefined) return;
    guest.seat = undefined;
    const next = this.#line.takeFirst();
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting -= 1;
    next.guest.seat = 'after a wait';
    next.start();
  }

  /** Sends all of the line away. */
  turnAway(reason: Error): void {
    for (const { guest } of this.#line.guests()) guest.breakOff(reason);
  }
}
