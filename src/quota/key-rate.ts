import type { RateRule } from '../config/plan-rule.ts';
import { Line, type Spot } from '../collections/line.ts';
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

/** As many cells are drawn ahead as the key took here in this time, and thrown away when they are old. */
const aheadMs = 20;
const cellLifeMs = 50;
/** A denial is kept no longer than this, so that an edited rate is felt soon and no idle key stays in memory. */
const denialMaxMs = 1000;

/** A request that waits for a cell. */
export interface Waiter {
  readonly rate: KeyRate;
  readonly resolve: (answer: Cell | TooFast) => void;
  readonly reject: (error: unknown) => void;
  /** In one of the two lines of its rate, and among all who wait. */
  inLine: Spot<Waiter> | undefined;
  inRoom: RoomSpot<Waiter> | undefined;
}

/** What this process knows of one rate of one key. */
export class KeyRate {
  readonly rule: RateRule;
  /** Those for whom calls are under way, and those for whom nobody asked yet; each in the order they came. */
  readonly asked = new Line<Waiter>();
  readonly line = new Line<Waiter>();
  #cells = 0;
  /** Cells that requests took since they were last asked for. */
  #taken = 0;
  #remaining = 0;
  /** Monotonic times: when the cells were asked for, and until when nothing is asked because none is free. */
  #askedAt: number;
  #deniedUntil = 0;
  #freeAt = 0;
  /** How many calls to the store are under way, and when the last one went out. */
  #calls = 0;
  #calledAt: number;

  /** The store was not asked yet. */
  constructor(rule: RateRule, mono: number) {
    this.rule = rule;
    this.#askedAt = mono;
    this.#calledAt = mono;
  }

  /** How many cells are held here. */
  get cells(): number {
    return this.#cells;
  }

  /** Whether what was asked for is young enough to be spent. */
  isFresh(mono: number): boolean {
    return mono - this.#askedAt <= cellLifeMs;
  }

  /** In how long a cell is free, by what the store said last. */
  freeInMs(mono: number): number {
    return this.#freeAt - mono;
  }

  /** Whether none is free, so that nothing is asked. */
  isDenied(mono: number): boolean {
    return mono < this.#deniedUntil;
  }

  /** Whether nothing would be lost with it. */
  isAtRest(mono: number): boolean {
    return this.#calls === 0 && !this.isDenied(mono) && !this.isFresh(mono);
  }

  /**
   * One call at a time asks for all who came meanwhile, as long as it is short. During one that is long, behind a store that is
   * far away, more may come than a burst: they would be refused though each of them came when a cell was free. So another goes
   * out as soon as half a burst may have grown since the last: however many requests come, the calls are in keeping with the rate.
   */
  isCallDue(mono: number): boolean {
    if (this.line.first === undefined || this.#calls === 0) return this.line.first !== undefined;
    return mono - this.#calledAt >= this.#msFor(this.rule.burst / 2);
  }

  /** The store is asked. Returns for how many cells beside those that are waited for. */
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

  /** The store gave cells, and has so many left. */
  fill(cells: number, remaining: number, askedAt: number): void {
    this.#askedAt = askedAt;
    this.#cells = cells;
    this.#remaining = remaining;
    this.#deniedUntil = 0;
  }

  /** The store had no cell, and says when it has one. */
  deny(retryInMs: number, askedAt: number, mono: number): void {
    this.#askedAt = askedAt;
    this.#cells = 0;
    this.#remaining = 0;
    this.#freeAt = mono + retryInMs;
    this.#deniedUntil = Math.min(askedAt + retryInMs, mono + denialMaxMs);
  }

  /** Gives one of the cells that are held here. */
  takeCell(): Cell {
    this.#cells -= 1;
    this.#taken += 1;
    return { kind: 'cell', reading: this.#read() };
  }

  putBack(): void {
    this.#cells += 1;
    this.#deniedUntil = 0;
  }

  /** Says no, and when to come again. */
  tooFast(retryInMs: number): TooFast {
    return { kind: 'too_fast', retryInMs, reading: this.#read() };
  }

  /** A key that comes seldom draws none ahead: what is thrown away the other processes would lack. */
  #cellsAhead(mono: number): number {
    const pace = this.#taken / Math.max(mono - this.#askedAt, aheadMs);
    return Math.floor(Math.min(pace, this.rule.limit / this.rule.perMs) * aheadMs);
  }

  /** Multiplied first: what is a whole second then divides to one. */
  #msFor(cells: number): number {
    return (cells * this.rule.perMs) / this.rule.limit;
  }

  #read(): RateReading {
    const { name, burst } = this.rule;
    const remaining = Math.min(burst, this.#remaining + this.#cells);
    return {
      name,
      burst,
      remaining,
      windowSeconds: Math.max(1, Math.ceil(this.#msFor(burst) / 1000)),
      resetInSeconds: Math.ceil(this.#msFor(burst - remaining) / 1000),
    };
  }
}
