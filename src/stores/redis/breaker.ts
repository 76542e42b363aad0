/** Stops asking a Redis that keeps failing, so that requests are answered at once instead of at the deadline. */
export interface Breaker {
  /** True when a call may be made. While open, one call at a time may try, each `coolMs`. */
  admits(): boolean;
  succeeded(): void;
  /** A call that several waited for counts once for each of them. */
  failed(calls?: number): void;
}

export interface BreakerOptions {
  /** How many failures in a row open it. */
  readonly failuresMax: number;
  readonly coolMs: number;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** Creates a closed breaker. */
export function createBreaker({ failuresMax, coolMs, clock }: BreakerOptions): Breaker {
  let failures = 0;
  let triedAt = 0;
  return {
    admits() {
      if (failures < failuresMax) return true;
      const now = clock();
      if (now - triedAt < coolMs) return false;
      triedAt = now;
      return true;
    },
    succeeded() {
      failures = 0;
    },
    failed(calls = 1) {
      failures += calls;
      triedAt = clock();
    },
  };
}
