import { Line, type Spot } from '../collections/line.ts';
import type { RateRule } from '../config/plan-rule.ts';
import type { RoomSpot } from '../waiting/waiting-room.ts';
import type { RateReading } from './answer-headers.ts';

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

/** Cells are drawn ahead for what the key took here in this time, and thrown away when they are old. */
const aheadMs = 20;
const cellLifeMs = 50;
/** A denial is kept no longer than this, so that an edited rate takes effect soon and no idle key stays in memory. */
const denialMaxMs = 1000;

/** A request that waits for a cell. */
export interface Waiter {
  readonly rate: KeyRate;
  readonly resolve: (answer: Cell | TooFast) => void;
  readonly reject: (error: unknown) => void;
  /** Its spot in one of its rate's two lines, and its spot among all waiters. */
  inLine: Spot<Waiter> | undefined;
  inRoom: RoomSpot<Waiter> | undefined;
}

/** What this process knows of one rate of one key. */
export class KeyRate {
  readonly rule: RateRule;
  /** Waiters for whom calls are under way, and waiters nobody has asked for yet; each in order of arrival. */
  readonly asked = new Line<Waiter>();
  readonly line = new Line<Waiter>();
  #cells = 0;
  /** Cells that requests have taken since the store was last asked. */
  #taken = 0;
  #remaining = 0;
  /** Monotonic times: when the cells were asked for, and until when nothing is asked because none is free. */
  #askedAt: number;
  #deniedUntil = 0;
  #freeAt = 0;
  /** How many calls to the store are under way, and when the last one went out. */
  #calls = 0;
  #calledAt = 0;

  /** Counts as asked now, so that it is not forgotten before the first answer. */
  constructor(rule: RateRule, mono: number) {
    this.rule = rule;
    this.#askedAt = mono;
  }

  /** How many cells are held here. */
  get cells(): number {
    return this.#cells;
  }

  /** Whether the cells are fresh enough to be spent. */
  isFresh(mono: number): boolean {
    return mono - this.#askedAt <= cellLifeMs;
  }

  /** How long until a cell is free, by the store's last answer. */
  freeInMs(mono: number): number {
    return this.#freeAt - mono;
  }

  /** Whether none is free, so that the store is not asked. */
  isDenied(mono: number): boolean {
    return mono < this.#deniedUntil;
  }

  /** Whether nothing would be lost by forgetting it. */
  isAtRest(mono: number): boolean {
    return this.#calls === 0 && !this.isDenied(mono) && !this.isFresh(mono);
  }

  /**
   * While calls are short, one at a time asks for everybody who has arrived since. During a long call, to a distant store, more
   * requests than a burst may arrive: they would be refused although a cell was free when each came. So another call goes out as
   * soon as half a burst may have grown since the last: however many requests come, the calls keep to the rate.
   */
  isCallDue(mono: number): boolean {
    if (this.line.first === undefined) return false;
    return this.#calls === 0 || mono - this.#calledAt >= this.#msFor(this.rule.burst / 2);
  }

  /** Notes that the store is asked. Returns how many cells to want beyond those that are waited for. */
  beginCall(mono: number): number {
    const ahead = this.#cellsAhead(mono);
    this.#taken = 0;
    this.#calls += 1;
    this.#calledAt = mono;
    return ahead;
  }

  endCall(): void {
    this.#calls -= 1;
  }

  /** The store gave cells, and has `remaining` left. */
  fill(cells: number, remaining: number, askedAt: number): void {
    this.#askedAt = askedAt;
    this.#cells = cells;
    this.#remaining = remaining;
  }

  /** The store had no cell, and said when it will have one. */
  deny(retryInMs: number, askedAt: number, mono: number): void {
    this.#askedAt = askedAt;
    this.#cells = 0;
    this.#remaining = 0;
    this.#freeAt = mono + retryInMs;
    this.#deniedUntil = Math.min(askedAt + retryInMs, mono + denialMaxMs);
  }

  /** Takes one of the cells held here. */
  takeCell(): Cell {
    this.#cells -= 1;
    this.#taken += 1;
    return { kind: 'cell', reading: this.#read() };
  }

  putBack(): void {
    this.#cells += 1;
  }

  /** Refuses, and says when to try again. */
  tooFast(retryInMs: number): TooFast {
    return { kind: 'too_fast', retryInMs, reading: this.#read() };
  }

  /** A rarely used key draws none ahead: other processes would lack what is thrown away. */
  #cellsAhead(mono: number): number {
    const pace = this.#taken / Math.max(mono - this.#askedAt, aheadMs);
    return Math.floor(Math.min(pace, this.rule.limit / this.rule.perMs) * aheadMs);
  }

  /** Multiplied first, so that a whole number of seconds comes out whole. */
  #msFor(cells: number): number {
    return (cells * this.rule.perMs) / this.rule.limit;
  }

  #read(): RateReading {
    const { burst } = this.rule;
    const remaining = Math.min(burst, this.#remaining + this.#cells);
    return {
      burst,
      remaining,
      windowSeconds: Math.ceil(this.#msFor(burst) / 1000),
      nextInSeconds: remaining > 0 ? 0 : Math.ceil(this.#msFor(1) / 1000),
      resetInSeconds: Math.ceil(this.#msFor(burst - remaining) / 1000),
    };
  }
}
