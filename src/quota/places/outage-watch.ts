import { isOutage } from '../../stores/store-unavailable.ts';
import type { Clock } from '../../waiting/clock.ts';

interface OutageWatchOptions {
  readonly clock: Clock;
  /** After an outage this long, what the store knows may be incomplete. */
  readonly longMs: number;
  /** After it ends, how long all processes have to tell the store. */
  readonly settleMs: number;
  /** Called when an outage is over, however long it was, with the moment since which the store was away. */
  readonly onEnd: (awaySince: number) => void;
}

/** Tells from how calls end whether the store is away, and whether it was away for long until just now. */
export class OutageWatch {
  readonly #options: OutageWatchOptions;
  #awaySince: number | undefined;
  #settledAt = -Infinity;

  constructor(options: OutageWatchOptions) {
    this.#options = options;
  }

  /** False for a while after a long outage. */
  get isSettled(): boolean {
    return this.#options.clock.mono() >= this.#settledAt;
  }

  /** Since when the store has not answered; undefined while it does. */
  get awaySince(): number | undefined {
    return this.#awaySince;
  }

  /** Passes the store's answer on, and notes whether the store is there or away. */
  async note<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const answer = await this.noteFailure(asked);
    this.end();
    return answer;
  }

  /** The same for a call whose answer does not end an outage, or not each of its answers. */
  async noteFailure<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const askedAt = this.#options.clock.mono();
    try {
      return await asked;
    } catch (error) {
      if (isOutage(error)) this.#awaySince ??= askedAt;
      throw error;
    }
  }

  /** The store has answered what it does only when it is there. */
  end(): void {
    if (this.#awaySince === undefined) return;
    const { clock, longMs, settleMs, onEnd } = this.#options;
    const now = clock.mono();
    const since = this.#awaySince;
    if (now - since >= longMs) this.#settledAt = now + settleMs;
    this.#awaySince = undefined;
    onEnd(since);
  }
}
