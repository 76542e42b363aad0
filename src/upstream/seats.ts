/**
 * The connections to one target, and the line of those who wait for one: first come, first served. The line is ours because
 * the libraries keep what waits in theirs, with its body, also when nobody wants it any more: clients that ask and
 * leave would fill the memory while an upstream stands still.
 */
export class Seats {
  readonly #most: number;
  readonly #taken = new Set<object>();
  readonly #line = new Map<object, () => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Calls `start` once there is a seat, which is `who`'s until it leaves. */
  take(who: object, start: () => void): void {
    if (this.#taken.size >= this.#most) {
      this.#line.set(who, start);
      return;
    }
    this.#taken.add(who);
    start();
  }

  /** True when `who` was still in line, and is no longer. */
  leaveLine(who: object): boolean {
    return this.#line.delete(who);
  }

  /** The seat is the next one's. Nothing if `who` has none. */
  leave(who: object): void {
    if (!this.#taken.delete(who)) return;
    const [next] = this.#line;
    if (next === undefined) return;
    this.#line.delete(next[0]);
    this.take(...next);
  }
}
