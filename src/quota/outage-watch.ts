import { isOutage } from '../stores/ledger.ts';
import type { Clock } from '../waiting/clock.ts';

export interface OutageWatchOptions {
  readonly clock: Clock;
  /** After an outage of this length what the store knows may lack something. */
  readonly longMs: number;
  /** How long after the end of one all have the time to tell it. */
  readonly settleMs: number;
}

/** Knows from what becomes of calls whether the store is away, and whether it has just been for long. */
export class OutageWatch {
  readonly #options: OutageWatchOptions;
  /** Since when the store does not answer; undefined while it does. */
  #awaySince: number | undefined;
  #settledAt = Number.NEGATIVE_INFINITY;

  constructor(options: OutageWatchOptions) {
    this.#options = options;
  }

  /** False for a while after a long outage. */
  get isSettled(): boolean {
    return this.#options.clock.mono() >= this.#settledAt;
  }

  /** Passes an answer of the store on, and notes that it is there or away. */
  async note<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const answer = await this.noteFailure(asked);
    this.#end();
    return answer;
  }

  /** The same for a call whose answer ends no outage. */
  async noteFailure<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const askedAt = this.#options.clock.mono();
    try {
      return await asked;
    } catch (error) {
      if (isOutage(error)) this.#awaySince ??= askedAt;
      throw error;
    }
  }

  #end(): void {
    if (this.#awaySince === undefined) return;
    const { clock, longMs, settleMs } = this.#options;
    const now = clock.mono();
    if (now - this.#awaySince >= longMs) this.#settledAt = now + settleMs;
    this.#awaySince = undefined;
  }
}
