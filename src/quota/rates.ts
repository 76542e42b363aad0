import type { RateRule } from '../config/plan-rule.ts';
import { rateName } from '../config/quota-names.ts';
import type { CellsAnswer } from '../stores/ledger.ts';
import { StoreUnavailable, unavailable } from '../stores/store-unavailable.ts';
import { Alarm } from '../waiting/alarm.ts';
import { turnsFor, WaitingRoom } from '../waiting/waiting-room.ts';
import { type Cell, KeyRate, type TooFast, type Waiter } from './key-rate.ts';
import type { LedgerAccess } from './ledger-access.ts';

const sweepMs = 1000;

type RatesAccess = Omit<LedgerAccess, 'holder'>;

/** The rates of all keys. */
export class Rates {
  readonly #access: RatesAccess;
  readonly #room: WaitingRoom<Waiter>;
  readonly #book = new Map<string, KeyRate>();
  readonly #sweep: Alarm;

  constructor(access: RatesAccess) {
    const { clock, deadlineMs } = access;
    this.#access = access;
    this.#room = new WaitingRoom({
      clock,
      waitMs: deadlineMs,
      extraTurns: turnsFor.caller,
      onLate: (waiter) => this.#release(waiter).reject(unavailable('No cell came in time')),
    });
    this.#sweep = new Alarm({ clock, afterMs: sweepMs, ring: () => this.#forgetRested() });
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#book.size;
  }

  /** Takes a cell: at once when some are held, otherwise after a call shared with the key's other requests. */
  take(keyId: string, rule: RateRule): Cell | TooFast | Promise<Cell | TooFast> {
    const mono = this.#access.clock.mono();
    const rate = this.#find(keyId, rule, mono);
    // There are fresh cells only when nobody waits.
    if (rate.cells > 0 && rate.isFresh(mono)) return rate.takeCell();
    if (rate.isDenied(mono)) return rate.tooFast(rate.freeInMs(mono));
    const answer = new Promise<Cell | TooFast>((resolve, reject) => {
      const waiter: Waiter = { rate, resolve, reject, inLine: undefined, inRoom: undefined };
      waiter.inLine = rate.line.join(waiter);
      waiter.inRoom = this.#room.enter(waiter);
    });
    this.#askWhenDue(keyId, rate, mono);
    return answer;
  }

  /** The request was refused for another reason: its cell serves the next one while it is fresh. */
  putBack(keyId: string, rule: RateRule): void {
    const rate = this.#book.get(keyId);
    if (rate?.rule !== rule || !rate.isFresh(this.#access.clock.mono())) return;
    rate.putBack();
    this.#serve(rate);
  }

  /** Hands cells to the requests in line, first come, first served. */
  #serve(rate: KeyRate): void {
    for (const waiting of [rate.asked, rate.line]) {
      for (let next = waiting.first; next !== undefined; next = waiting.first) {
        if (rate.cells === 0) return;
        this.#release(next).resolve(rate.takeCell());
      }
    }
  }

  /** Takes a request out of the waiters; the caller answers it. */
  #release(waiter: Waiter): Waiter {
    waiter.inLine?.leave();
    waiter.inRoom?.leave();
    return waiter;
  }

  /** Requests waiting under another rule of the key (another plan's, or one since edited) are served by that one to the end. */
  #find(keyId: string, rule: RateRule, mono: number): KeyRate {
    const known = this.#book.get(keyId);
    if (known?.rule === rule) return known;
    const made = new KeyRate(rule, mono);
    this.#book.set(keyId, made);
    this.#sweep.set();
    return made;
  }

  #askWhenDue(keyId: string, rate: KeyRate, mono: number): void {
    if (!rate.isCallDue(mono)) return;
    this.#ask(keyId, rate, mono).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) this.#access.onError(error);
    });
  }

  async #ask(keyId: string, rate: KeyRate, mono: number): Promise<void> {
    const { burst, perMs, limit } = rate.rule;
    const intervalMs = perMs / limit;
    const asked = rate.line.guests();
    const want = Math.min(burst, asked.length + rate.beginCall(mono));
    for (const waiter of asked) {
      waiter.inLine?.leave();
      waiter.inLine = rate.asked.join(waiter);
    }
    try {
      const answer = await this.#access.ledger.takeCells({ keyId, name: rateName, intervalMs, burst, want });
      this.#answered(rate, answer, mono);
      // Requests that the cells did not reach are too fast: another cell is free an interval later.
      this.#turnAway(asked, answer.kind === 'taken' ? Math.ceil(intervalMs) : answer.retryInMs);
    } catch (error) {
      for (const waiter of [...asked, ...rate.line.guests()]) this.#release(waiter).reject(error);
      throw error;
    } finally {
      rate.endCall();
    }
    this.#askWhenDue(keyId, rate, this.#access.clock.mono());
  }

  #answered(rate: KeyRate, answer: CellsAnswer, askedAt: number): void {
    if (answer.kind === 'taken') {
      rate.fill(answer.cells, answer.remaining, askedAt);
      this.#serve(rate);
      return;
    }
    const mono = this.#access.clock.mono();
    rate.deny(answer.retryInMs, askedAt, mono);
    // With a distant store a cell may have come free since it was asked, for requests that came since.
    if (rate.isDenied(mono)) this.#turnAway(rate.line.guests(), answer.retryInMs);
  }

  /** Only those that still wait. */
  #turnAway(waiting: readonly Waiter[], retryInMs: number): void {
    for (const waiter of waiting) {
      if (waiter.inLine?.isTaken === true) this.#release(waiter).resolve(waiter.rate.tooFast(retryInMs));
    }
  }

  #forgetRested(): void {
    const mono = this.#access.clock.mono();
    for (const [keyId, rate] of this.#book) {
      if (rate.isAtRest(mono)) this.#book.delete(keyId);
    }
    if (this.#book.size > 0) this.#sweep.set();
  }
}
