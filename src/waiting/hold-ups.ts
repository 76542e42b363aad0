/** Two beats are closer together than any hold-up that is worth noticing. */
const beatMs = 250;

/**
 * Notices when this process stood still: it was stopped, or too busy for its timers. What was said to it meanwhile waits to be
 * read, and may be read after a request that was sent later.
 */
export class HoldUps {
  readonly #mono: () => number;
  readonly #leastMs: number;
  readonly #beats = setInterval(() => this.#look(), beatMs).unref();
  #ranAt: number;
  #heldUp = false;

  /** Notices every hold-up of at least `leastMs`, and some that are up to a beat shorter. */
  constructor(mono: () => number, leastMs: number) {
    this.#mono = mono;
    this.#leastMs = leastMs;
    this.#ranAt = mono();
  }

  /** Whether there was a hold-up since this was last asked. */
  wasHeldUp(): boolean {
    this.#look();
    const heldUp = this.#heldUp;
    this.#heldUp = false;
    return heldUp;
  }

  end(): void {
    clearInterval(this.#beats);
  }

  #look(): void {
    const now = this.#mono();
    if (now - this.#ranAt >= this.#leastMs) this.#heldUp = true;
    this.#ranAt = now;
  }
}
