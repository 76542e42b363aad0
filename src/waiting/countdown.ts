import { whenAllIsRead } from './when-all-is-read.ts';

/**
 * Tells when something takes too long: its time begins again with each start. What came while the process was held up came in
 * time. All starts share one timer, which never keeps the process alive.
 */
export class Countdown {
  readonly #ms: number;
  readonly #whenOver: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #starts = 0;

  constructor(ms: number, whenOver: () => void) {
    this.#ms = ms;
    this.#whenOver = whenOver;
  }

  /** Starts it, from the beginning if it runs already. */
  start(): void {
    this.#isRunning = true;
    this.#starts += 1;
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#look(), this.#ms).unref();
    else this.#timer.refresh();
  }

  /** Nothing is waited for until the next start, which comes soon: the timer is kept for it. */
  pause(): void {
    this.#isRunning = false;
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const starts = this.#starts;
    whenAllIsRead(() => {
      if (this.#isRunning && starts === this.#starts) this.#whenOver();
    });
  }
}
