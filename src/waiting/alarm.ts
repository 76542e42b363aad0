import type { Clock } from './clock.ts';

interface AlarmOptions {
  readonly clock: Clock;
  readonly afterMs: number;
  /** By then it is no longer set, and can be set again. */
  readonly ring: () => void;
}

/** One timer for all who set it: it rings once after a time, however often it was set meanwhile. */
export class Alarm {
  readonly #options: AlarmOptions;
  #isSet = false;

  constructor(options: AlarmOptions) {
    this.#options = options;
  }

  set(): void {
    if (this.#isSet) return;
    this.#isSet = true;
    const { clock, afterMs, ring } = this.#options;
    clock.after(afterMs, () => {
      this.#isSet = false;
      ring();
    });
  }
}
