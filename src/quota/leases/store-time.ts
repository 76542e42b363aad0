import type { Clock } from '../../waiting/clock.ts';

/** How far the wall clock and the monotonic clock may drift apart between two looks before one of them has jumped. */
const driftMaxMs = 500;

/**
 * What the store's clock shows, reckoned from its last answer and the monotonic clock, so that a wall clock that is set back or
 * forward changes nothing. An answer took some time to arrive: the truth lies between `earliest` and `latest`. Units are spent by
 * `latest`, which never lets one outlive its period; waits are told by `earliest`.
 */
export class StoreTime {
  readonly #clock: Clock;
  #drift: number;
  #ahead: number;
  #behind: number;
  /** When a jump was last noticed, by the monotonic clock. */
  #jumpedAt = 0;
  /**
   * Whether the store has answered what it was asked since a clock last jumped. Until then there is only the wall clock, or an
   * answer that the jump has made old, and both may be wrong.
   */
  isKnown = false;
  /**
   * Goes up when one of the clocks has jumped: the machine slept or its clock was set, and nothing here can tell which. What was
   * known of the store's time before is not to be trusted for spending.
   */
  trust = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#drift = clock.wall() - clock.mono();
    this.#ahead = this.#drift;
    this.#behind = this.#drift;
  }

  /** The monotonic clock; looks for jumps on the way. */
  tick(): number {
    const mono = this.#clock.mono();
    const drift = this.#clock.wall() - mono;
    if (Math.abs(drift - this.#drift) > driftMaxMs) {
      this.trust += 1;
      this.#drift = drift;
      this.#jumpedAt = mono;
      this.isKnown = false;
    }
    return mono;
  }

  /** Takes the present distance of the clocks as normal, so that a slow drift never adds up to a jump. */
  forgiveDrift(): void {
    this.#drift = this.#clock.wall() - this.tick();
  }

  /** The store's time at most, in whole milliseconds as the store counts them. */
  latest(mono: number): number {
    return Math.floor(mono + this.#ahead);
  }

  /** The store's time now, at least. */
  earliest(): number {
    return Math.floor(this.#clock.mono() + this.#behind);
  }

  /** Learns from an answer: the store showed `now` at some moment since it was asked, and was nearly at the next millisecond at most. */
  learn(now: number, askedAt: number): void {
    const isOld = askedAt < this.#jumpedAt;
    if (isOld && this.isKnown) return; // a newer answer came first
    this.isKnown = !isOld;
    this.#ahead = now + 1 - askedAt;
    this.#behind = now - this.#clock.mono();
  }
}
