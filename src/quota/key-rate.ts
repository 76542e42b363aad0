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
export interface KeyRate {
  readonly rule: RateRule;
  cells: number;
  /** Cells that requests took since they were last asked for. */
  taken: number;
  remaining: number;
  /** Monotonic times: when the cells were asked for, and until when nothing is asked because none is free. */
  askedAt: number;
  deniedUntil: number;
  freeAt: number;
  /** How many calls to the store are under way, and when the last one went out. */
  calls: number;
  calledAt: number;
  /** Those for whom calls are under way, and those for whom nobody asked yet; each in the order they came. */
  readonly asked: Line<Waiter>;
  readonly line: Line<Waiter>;
}

/** Creates what is known before the store was asked. */
export function createKeyRate(rule: RateRule, mono: number): KeyRate {
  return {
    rule,
    cells: 0,
    taken: 0,
    remaining: 0,
    askedAt: mono,
    deniedUntil: 0,
    freeAt: 0,
    calls: 0,
    calledAt: mono,
    asked: new Line<Waiter>(),
    line: new Line<Waiter>(),
  };
}

/** Whether what was asked for is young enough to be spent. */
export function isFresh(rate: KeyRate, mono: number): boolean {
  return mono - rate.askedAt <= cellLifeMs;
}

/** Whether nothing would be lost with it. */
export function isAtRest(rate: KeyRate, mono: number): boolean {
  return rate.calls === 0 && mono >= rate.deniedUntil && !isFresh(rate, mono);
}

/**
 * One call at a time asks for all who came meanwhile, as long as it is short. During one that is long, behind a store that is
 * far away, more may come than a burst: they would be refused though each of them came when a cell was free. So another goes
 * out as soon as half a burst may have grown since the last: however many requests come, the calls are in keeping with the rate.
 */
export function isCallDue({ rule, line, calls, calledAt }: KeyRate, mono: number): boolean {
  if (line.first === undefined || calls === 0) return line.first !== undefined;
  return mono - calledAt >= ((rule.burst / 2) * rule.perMs) / rule.limit;
}

/** A key that comes seldom draws none ahead: what is thrown away the other processes would lack. */
export function cellsAhead({ rule, taken, askedAt }: KeyRate, mono: number): number {
  const pace = taken / Math.max(mono - askedAt, aheadMs);
  return Math.floor(Math.min(pace, rule.limit / rule.perMs) * aheadMs);
}

/** Gives one of the cells that are held here. */
export function takeCell(rate: KeyRate): Cell {
  rate.cells -= 1;
  rate.taken += 1;
  return { kind: 'cell', reading: read(rate) };
}

/** Says no, and when to come again. */
export function tooFast(rate: KeyRate, retryInMs: number): TooFast {
  return { kind: 'too_fast', retryInMs, reading: read(rate) };
}

function read({ rule, remaining, cells }: KeyRate): RateReading {
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
