/** How many failures in a row open a breaker, and how long it then waits before each further try. */
const failuresMax = 5;
export const coolMs = 200;

/** Stops asking a Redis that keeps failing, so that requests are answered at once instead of at the deadline. */
export class Breaker {
  #failures = 0;
  #triedAt = 0;

  /** True when a call may be made. While open, one call at a time may try, each `coolMs`. */
  admits(): boolean {
    if (this.#failures < failuresMax) return true;
    const now = performance.now();
    if (now - this.#triedAt < coolMs) return false;
    this.#triedAt = now;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** A call that several waited for counts once for each of them. */
  failed(calls: number): void {
    this.#failures += calls;
    this.#triedAt = performance.now();
  }
}
