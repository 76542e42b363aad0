import type { Clock } from '../waiting/clock.ts';

/**
 * After an outage the store is told again of the places that were left during it, or up to this long before it; of so many at most, and
 * not once more for as long. A master goes on for a second or two after another was put in its place: that one has not heard of what was
 * left meanwhile, and the key would lack it until it expires.
 */
const latelyMs = 3000;
const latelyMax = 10_000;

interface LeftPlace {
  readonly keyId: string;
  readonly placeId: string;
  readonly leftAt: number;
}

/** Places left lately, of which the store may have to be told again. */
export class LatelyLeft {
  readonly #clock: Clock;
  /** A ring. */
  readonly #places: LeftPlace[] = [];
  #count = 0;
  /** The store has yet to be told again of those left since then. */
  #untoldSince: number | undefined;
  #toldAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the store has yet to be told of some again. */
  get isUntold(): boolean {
    return this.#untoldSince !== undefined;
  }

  note(keyId: string, placeId: string): void {
    this.#places[this.#count++ % latelyMax] = { keyId, placeId, leftAt: this.#clock.mono() };
  }

  /** The store may lack what it was told since then: it was away, or another has taken its place. */
  mayBeUnknown(since: number): void {
    this.#untoldSince ??= since - latelyMs;
  }

  /**
   * Those to tell of now; undefined = not now. Not often: while one node of a cluster is away, each answer of another ends an outage,
   * and a store that is too slow for some calls must not get many more each time it answers one.
   */
  takeUntold(): readonly LeftPlace[] | undefined {
    const since = this.#untoldSince;
    const now = this.#clock.mono();
    if (since === undefined || now - this.#toldAt < latelyMs) return undefined;
    this.#toldAt = now;
    this.#untoldSince = undefined;
    return this.#places.filter(({ leftAt }) => leftAt >= since);
  }
}
