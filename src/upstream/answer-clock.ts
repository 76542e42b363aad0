import type { UpstreamConfig } from '../config/config.ts';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';
import { ResponseTimeout, Stalled } from './failures.ts';

/** Without `responseMs` somebody else times the head. */
export type AnswerTimes = Pick<UpstreamConfig['timeouts'], 'idleMs'> & { readonly responseMs?: number };

/** The one that waits for the answer. */
interface Waiting {
  breakOff(reason: Error): void;
}

/** The time that one answer has: for its head, and for each further piece. What came while the process was held up came in time. */
export class AnswerClock {
  readonly #times: AnswerTimes;
  readonly #waiting: Waiting;
  #startedAt = 0;
  /** Set while the head is waited for. */
  #deadline: NodeJS.Timeout | undefined;
  /** Set while more of the body is waited for. */
  #patience: NodeJS.Timeout | undefined;
  #pieces = 0;

  constructor(times: AnswerTimes, waiting: Waiting) {
    this.#times = times;
    this.#waiting = waiting;
  }

  /** Starts the time for the head, or for what comes before it, again. An upstream that sends 1xx for ever does not put off its end. */
  start(): void {
    this.#startedAt = performance.now();
    const { responseMs } = this.#times;
    if (responseMs === undefined) return;
    if (this.#deadline === undefined)
      this.#deadline = setTimeout(() => this.#lookForHead(responseMs), responseMs);
    else this.#deadline.refresh();
  }

  /** From here on the time counts as the upstream's. */
  noteSent(): void {
    this.#startedAt = performance.now();
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  noteHead(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  /**
   * Starts the time for the next piece. Nearly every answer is whole in one turn of the event loop and needs no timer: with one for
   * each, kept for a while, the old generation filled up three times as fast.
   */
  expectMore(): void {
    this.#pieces += 1;
    if (this.#patience === undefined)
      this.#patience = setTimeout(() => this.#lookForMore(), this.#times.idleMs);
    else this.#patience.refresh();
  }

  expectNoMore(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  stop(): void {
    this.noteHead();
    this.expectNoMore();
  }

  #lookForHead(responseMs: number): void {
    const since = this.#startedAt;
    whenAllIsRead(() => {
      if (this.#deadline !== undefined && since === this.#startedAt)
        this.#waiting.breakOff(new ResponseTimeout(responseMs));
    });
  }

  #lookForMore(): void {
    const pieces = this.#pieces;
    whenAllIsRead(() => {
      if (this.#patience !== undefined && pieces === this.#pieces)
        this.#waiting.breakOff(new Stalled(`nothing more of the answer within ${this.#times.idleMs} ms`));
    });
  }
}
