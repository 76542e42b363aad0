import { StoreUnavailable } from '../stores/ledger.ts';
import type { Ledger, PaceAnswer } from '../stores/ledger.ts';
import type { Clock } from '../waiting/clock.ts';
import type { RateRule } from '../config/plan-rule.ts';
import { cellsAhead, createPace, isAtRest, isCallDue, isFresh, takeCell, tooFast } from './pace.ts';
import type { Cell, Pace, TooFast, Waiter } from './pace.ts';
import { turnsFor, WaitingRoom } from '../waiting/waiting-room.ts';

/** The rates of all keys. */
export interface Rates {
  /** Takes a cell: at once when some are held, otherwise after a call that is shared with others of the key. */
  take(keyId: string, rule: RateRule): Cell | TooFast | Promise<Cell | TooFast>;
  /** The request was refused for another reason: its cell serves the next one, as long as it is fresh. */
  putBack(keyId: string, rule: RateRule): void;
  readonly keys: number;
}

export interface RatesOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly onError: (error: unknown) => void;
}

/** Creates the rates of a process. */
export function createRates(options: RatesOptions): Rates {
  return new RateBook(options);
}

/** A denial is kept no longer than this, so that an edited rate is felt soon and no idle key stays in memory. */
const denialMaxMs = 1000;
const sweepMs = 1000;

class RateBook implements Rates {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #room: WaitingRoom<Waiter>;
  readonly #onError: (error: unknown) => void;
  readonly #book = new Map<string, Pace>();
  #sweeping = false;

  constructor(options: RatesOptions) {
    this.#ledger = options.ledger;
    this.#clock = options.clock;
    this.#room = new WaitingRoom({
      clock: options.clock,
      waitMs: options.deadlineMs,
      turnsMore: turnsFor.caller,
      turnOut: (waiter) => {
        const late = new StoreUnavailable('No cell came in time', { mayHaveHappened: false });
        this.#release(waiter).reject(late);
      },
    });
    this.#onError = options.onError;
  }

  get keys(): number {
    return this.#book.size;
  }

  take(keyId: string, rule: RateRule): Cell | TooFast | Promise<Cell | TooFast> {
    const mono = this.#clock.mono();
    const pace = this.#find(keyId, rule, mono);
    // Cells that are fresh are there only when nobody waits.
    if (pace.cells > 0 && isFresh(pace, mono)) return takeCell(pace);
    if (mono < pace.deniedUntil) return tooFast(pace, pace.freeAt - mono);
    const answer = new Promise<Cell | TooFast>((resolve, reject) => {
      const waiter: Waiter = { pace, resolve, reject, inLine: undefined, inRoom: undefined };
      waiter.inLine = pace.line.join(waiter);
      waiter.inRoom = this.#room.enter(waiter);
    });
    this.#askWhenDue(keyId, pace, mono);
    return answer;
  }

  putBack(keyId: string, rule: RateRule): void {
    const pace = this.#book.get(keyId);
    if (pace?.rule !== rule || !isFresh(pace, this.#clock.mono())) return;
    pace.cells += 1;
    pace.deniedUntil = 0;
    this.#serve(pace);
  }

  /** Hands cells to the requests in line, first come, first served. */
  #serve(pace: Pace): void {
    for (const waiting of [pace.asked, pace.line]) {
      for (let next = waiting.first; next !== undefined; next = waiting.first) {
        if (pace.cells === 0) return;
        this.#release(next).resolve(takeCell(pace));
      }
    }
  }

  /** Takes a request from among those who wait; the caller answers it. */
  #release(waiter: Waiter): Waiter {
    waiter.inLine?.leave();
    waiter.inRoom?.leave();
    return waiter;
  }

  /** Who waits under another rule of the key, of another plan or of one that was edited, is served by that one to the end. */
  #find(keyId: string, rule: RateRule, mono: number): Pace {
    const known = this.#book.get(keyId);
    if (known?.rule === rule) return known;
    const made = createPace(rule, mono);
    this.#book.set(keyId, made);
    this.#armSweep();
    return made;
  }

  #askWhenDue(keyId: string, pace: Pace, mono: number): void {
    if (!isCallDue(pace, mono)) return;
    this.#ask(keyId, pace, mono).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) this.#onError(error);
    });
  }

  async #ask(keyId: string, pace: Pace, mono: number): Promise<void> {
    const { name, burst, perMs, limit } = pace.rule;
    const intervalMs = perMs / limit;
    const asked = pace.line.guests();
    const want = Math.min(burst, asked.length + cellsAhead(pace, mono));
    pace.taken = 0;
    pace.calls += 1;
    pace.calledAt = mono;
    for (const waiter of asked) {
      waiter.inLine?.leave();
      waiter.inLine = pace.asked.join(waiter);
    }
    try {
      const answer = await this.#ledger.pace({ keyId, name, intervalMs, burst, want });
      this.#answered(pace, answer, mono);
      // Whom the last cell did not reach is too fast: another one is free an interval later.
      this.#turnAway(asked, answer.kind === 'paced' ? Math.ceil(intervalMs) : answer.retryInMs);
    } catch (error) {
      for (const waiter of [...asked, ...pace.line.guests()]) this.#release(waiter).reject(error);
      throw error;
    } finally {
      pace.calls -= 1;
    }
    this.#askWhenDue(keyId, pace, this.#clock.mono());
  }

  #answered(pace: Pace, answer: PaceAnswer, askedAt: number): void {
    pace.askedAt = askedAt;
    if (answer.kind === 'paced') {
      pace.cells = answer.cells;
      pace.remaining = answer.remaining;
      pace.deniedUntil = 0;
      this.#serve(pace);
      return;
    }
    const mono = this.#clock.mono();
    pace.cells = 0;
    pace.remaining = 0;
    pace.freeAt = mono + answer.retryInMs;
    pace.deniedUntil = Math.min(askedAt + answer.retryInMs, mono + denialMaxMs);
    // Behind a store that is far away a cell may have come free since it was asked, for those who came since.
    if (mono < pace.deniedUntil) this.#turnAway(pace.line.guests(), answer.retryInMs);
  }

  /** Those of them who still wait. */
  #turnAway(waiting: readonly Waiter[], retryInMs: number): void {
    for (const waiter of waiting) {
      if (waiter.inLine?.isTaken === true) this.#release(waiter).resolve(tooFast(waiter.pace, retryInMs));
    }
  }

  #armSweep(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#clock.after(sweepMs, () => {
      this.#sweeping = false;
      const mono = this.#clock.mono();
      for (const [keyId, pace] of this.#book) {
        if (isAtRest(pace, mono)) this.#book.delete(keyId);
      }
      if (this.#book.size > 0) this.#armSweep();
    });
  }
}
