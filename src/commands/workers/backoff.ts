const pauseMinMs = 100;
const pauseMaxMs = 10_000;

/** Pauses after failures, each twice as long as the one before. Failures during a pause are one with the failure that began it. */
export class Backoff {
  #pauseMs = 0;
  #isPausing = false;

  /** Calls back after the pause, and returns how long that is. */
  retry(call: () => void): number {
    const beginsPause = !this.#isPausing;
    if (beginsPause) this.#pauseMs = Math.min(pauseMaxMs, Math.max(pauseMinMs, this.#pauseMs * 2));
    this.#isPausing = true;
    setTimeout(() => {
      if (beginsPause) this.#isPausing = false;
      call();
    }, this.#pauseMs);
    return this.#pauseMs;
  }

  /** The next failure is a first one again. */
  forget(): void {
    this.#pauseMs = 0;
  }
}
