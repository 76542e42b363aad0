/** Who wants a seat. */
export interface Guest {
  /** Ends its wait for this reason. */
  breakOff(reason: Error): void;
}

/**
 * The connections to one target, and the line of those who wait for one: first come, first served. The line is ours because
 * the libraries keep what waits in theirs, with its body, also when nobody wants it any more: clients that ask and
 * leave would fill the memory while an upstream stands still.
 */
export class Seats {
  readonly #most: number;
  /** Who has a seat, and whether they had to wait for it. */
  readonly #taken = new Map<Guest, boolean>();
  readonly #line = new Map<Guest, () => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Calls `start` once there is a seat, which is `who`'s until it leaves. */
  take(who: Guest, start: () => void): void {
    if (this.#taken.size >= this.#most) {
      this.#line.set(who, start);
      return;
    }
    this.#seat(who, start, false);
  }

  /** Whoever gives up stands in line no longer. True when they did, or had just got their seat from there. */
  giveUp(who: Guest): boolean {
    return this.#line.delete(who) || this.#taken.get(who) === true;
  }

  /** The seat is the next one's. Nothing if `who` has none. */
  leave(who: Guest): void {
    if (!this.#taken.delete(who)) return;
    const [next] = this.#line;
    if (next === undefined) return;
    this.#line.delete(next[0]);
    this.#seat(...next, true);
  }

  /** Sends all of the line away. */
  turnAway(reason: Error): void {
    for (const who of this.#line.keys()) who.breakOff(reason);
  }

  #seat(who: Guest, start: () => void, waited: boolean): void {
    this.#taken.set(who, waited);
    start();
  }
}
