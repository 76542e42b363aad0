import type { Clock } from '../../waiting/clock.ts';

/**
 * After an outage the store is told again of the places that were left during it, and for this long before it: a master that is
 * replaced goes on for a second or two, and its successor has not heard of what was left meanwhile. The key would lack those places
 * until they expire. It is also the least time between two such rounds.
 */
const recentMs = 3000;
/** How many places are remembered. */
const recentMax = 10_000;

/** A place that a request of this process has left. */
export interface LeftPlace {
  readonly keyId: string;
  readonly placeId: string;
  readonly leftAt: number;
}

/** Places left recently, of which the store may have to be told again. */
export class RecentlyLeft {
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

  note(keyId: string, placeId: string): LeftPlace {
    const place = { keyId, placeId, leftAt: this.#clock.mono() };
    this.#places[this.#count++ % recentMax] = place;
    return place;
  }

  /** The store may lack what it was told since then: it was away, or another has taken its place. */
  mayBeUnknown(since: number): void {
    this.#untoldSince ??= since - recentMs;
  }

  /**
   * Those to tell of now; undefined when it is too soon. While one node of a cluster is away, each answer of another ends an outage,
   * and a store that is too slow for some calls must not get many more each time it answers one.
   */
  takeUntold(): readonly LeftPlace[] | undefined {
    const since = this.#untoldSince;
    const now = this.#clock.mono();
    if (since === undefined || now - this.#toldAt < recentMs) return undefined;
    this.#toldAt = now;
    this.#untoldSince = undefined;
    return this.#places.filter(({ leftAt }) => leftAt >= since);
  }
}
