import { StoreUnavailable } from '../stores/ledger.ts';
import type { Ledger, PaceAnswer } from '../stores/ledger.ts';
import type { RateReading } from './answer-headers.ts';
import type { Clock } from './clock.ts';
import type { RateRule } from '../config/plan-rule.ts';
import { WaitingRoom } from './waiting-room.ts';

/** One request may pass now. */
export interface Cell {
  readonly kind: 'cell';
  readonly reading: RateReading;
}

/** The key is too fast; the next request passes after `retryInMs`, never earlier. */
export interface TooFast {
  readonly kind: 'too_fast';
  readonly retryInMs: number;
  readonly reading: RateReading;
}

/** The rates of all keys. */
export interface Rates {
  /** Takes a cell: at once when some are held, otherwise after the one call of the key that is in flight. */
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

/** As many cells are drawn ahead as the key took here in this time, and thrown away when they are old. */
const aheadMs = 20;
const cellLifeMs = 50;
/** A denial is kept no longer than this, so that an edited rate is felt soon and no idle key stays in memory. */
const denialMaxMs = 1000;
const sweepMs = 1000;

interface Waiter {
  readonly pace: Pace;
  readonly resolve: (answer: Cell | TooFast) => void;
  readonly reject: (error: unknown) => void;
}

interface Pace {
  readonly rule: RateRule;
  cells: number;
  /** Cells that requests took since they were last asked for. */
  taken: number;
  remaining: number;
  /** Monotonic times: when the cells were asked for, and until when nothing is asked because none is free. */
  askedAt: number;
  deniedUntil: number;
  freeAt: number;
  asking: boolean;
  /** In the order they came. */
  readonly line: Set<Waiter>;
}

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
    this.#room = new WaitingRoom(options.clock, options.deadlineMs, (waiter) => {
      this.#release(waiter).reject(new StoreUnavailable('No cell came in time', { mayHaveHappened: false }));
    });
    this.#onError = options.onError;
  }

  get keys(): number {
    return this.#book.size;
  }

  take(keyId: string, rule: RateRule): Cell | TooFast | Promise<Cell | TooFast> {
    const mono = this.#clock.mono();
    const pace = this.#find(keyId, rule, mono);
    if (pace.line.size === 0) {
      if (pace.cells > 0 && mono - pace.askedAt <= cellLifeMs) return takeCell(pace);
      if (mono < pace.deniedUntil) return tooFast(pace, pace.freeAt - mono);
    }
    const answer = new Promise<Cell | TooFast>((resolve, reject) => {
      const waiter = { pace, resolve, reject };
      pace.line.add(waiter);
      // Whoever's call is lost hears of it from the store first, which says more: the room is the more patient one.
      this.#room.enter(waiter);
    });
    if (!pace.asking) this.#startAsking(keyId, pace);
    return answer;
  }

  putBack(keyId: string, rule: RateRule): void {
    const pace = this.#book.get(keyId);
    if (pace?.rule !== rule || this.#clock.mono() - pace.askedAt > cellLifeMs) return;
    pace.cells += 1;
    pace.deniedUntil = 0;
    this.#serve(pace);
  }

  /** Hands cells to the requests in line, first come, first served. */
  #serve(pace: Pace): void {
    for (const waiter of pace.line) {
      if (pace.cells === 0) return;
      this.#release(waiter).resolve(takeCell(pace));
    }
  }

  /** Takes a request out of its line; the caller answers it. */
  #release(waiter: Waiter): Waiter {
    this.#room.leave(waiter);
    waiter.pace.line.delete(waiter);
    return waiter;
  }

  /** Who waits under another rule of the key, of another plan or of one that was edited, is served by that one to the end. */
  #find(keyId: string, rule: RateRule, mono: number): Pace {
    const known = this.#book.get(keyId);
    if (known?.rule === rule) return known;
    const made = {
      rule,
      cells: 0,
      taken: 0,
      remaining: 0,
      askedAt: mono,
      deniedUntil: 0,
      freeAt: 0,
      asking: false,
      line: new Set<Waiter>(),
    };
    this.#book.set(keyId, made);
    this.#armSweep();
    return made;
  }

  #startAsking(keyId: string, pace: Pace): void {
    this.#ask(keyId, pace).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) this.#onError(error);
    });
  }

  async #ask(keyId: string, pace: Pace): Promise<void> {
    pace.asking = true;
    try {
      while (pace.line.size > 0) await this.#askOnce(keyId, pace);
    } catch (error) {
      for (const waiter of pace.line) this.#release(waiter).reject(error);
      throw error;
    } finally {
      pace.asking = false;
    }
  }

  async #askOnce(keyId: string, pace: Pace): Promise<void> {
    const { rule } = pace;
    const intervalMs = rule.perMs / rule.limit;
    const askedAt = this.#clock.mono();
    const want = Math.min(rule.burst, pace.line.size + cellsAhead(pace, askedAt));
    pace.taken = 0;
    const asked = [...pace.line];
    const answer = await this.#ledger.pace({ keyId, name: rule.name, intervalMs, burst: rule.burst, want });
    this.#answered(pace, answer, askedAt);
    this.#turnAway(asked, Math.ceil(intervalMs));
  }

  /**
   * Whom the last cell did not reach is too fast. Behind a store so far away that cells grow while it is asked he would
   * otherwise wait for one with all who come after him, until it seemed to be away.
   */
  #turnAway(asked: readonly Waiter[], retryInMs: number): void {
    for (const waiter of asked) {
      const { pace } = waiter;
      if (pace.line.has(waiter)) this.#release(waiter).resolve(tooFast(pace, retryInMs));
    }
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
    for (const waiter of pace.line) this.#release(waiter).resolve(tooFast(pace, answer.retryInMs));
  }

  #armSweep(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#clock.after(sweepMs, () => {
      this.#sweeping = false;
      const mono = this.#clock.mono();
      for (const [keyId, pace] of this.#book) {
        const rests = !pace.asking && mono >= pace.deniedUntil && mono - pace.askedAt > cellLifeMs;
        if (rests) this.#book.delete(keyId);
      }
      if (this.#book.size > 0) this.#armSweep();
    });
  }
}

/** A key that comes seldom draws none ahead: what is thrown away the other processes would lack. */
function cellsAhead({ rule, taken, askedAt }: Pace, now: number): number {
  const pace = taken / Math.max(now - askedAt, aheadMs);
  return Math.floor(Math.min(pace, rule.limit / rule.perMs) * aheadMs);
}

function takeCell(pace: Pace): Cell {
  pace.cells -= 1;
  pace.taken += 1;
  return { kind: 'cell', reading: read(pace) };
}

function tooFast(pace: Pace, retryInMs: number): TooFast {
  return { kind: 'too_fast', retryInMs, reading: read(pace) };
}

function read({ rule, remaining, cells }: Pace): RateReading {
  const left = Math.min(rule.burst, remaining + cells);
  // Multiplied first: what is a whole second then divides to one.
  const msFor = (count: number): number => (count * rule.perMs) / rule.limit;
  return {
    name: rule.name,
    burst: rule.burst,
    remaining: left,
    windowSeconds: Math.max(1, Math.ceil(msFor(rule.burst) / 1000)),
    resetInSeconds: Math.ceil(msFor(rule.burst - left) / 1000),
  };
}
