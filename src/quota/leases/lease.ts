import type { Line, Spot } from '../../collections/line.ts';
import type { PlanRule } from '../../config/plan-rule.ts';
import { endOfTime, type Counter } from '../../stores/ledger.ts';
import type { RoomSpot } from '../../waiting/waiting-room.ts';
import { countingAt, runsAt, type Counting } from './counting.ts';
import { isNearEnd, sizeLease } from './lease-size.ts';
import type { StoreTime } from './store-time.ts';

/** A request that waits for a draw. */
export interface Waiter {
  readonly lease: Lease;
  readonly cost: number;
  readonly resolve: (answer: Reservation | Denial) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening for the client's leaving. */
  stopListening: (() => void) | undefined;
  /** Its spot in the key's line, and its spot among all waiters. */
  inLine: Spot<Waiter> | undefined;
  inRoom: RoomSpot<Waiter> | undefined;
}

const noneYet: Counting = { counters: [], from: 0, until: 0, trust: -1 };

/** A key's pace is judged at most this often. */
const paceMs = 1000;

/**
 * The units of one key that this process has drawn and not spent, drawn from all of the key's quotas together. They
 * are good for the very periods they were drawn from, so until the earliest of those ends.
 *
 * Its life: it enters the periods that run (`enterPeriods`). When it has too few units a draw is made (`beginDraw`, then `fill` or
 * `noteExhausted`). Requests take units (`take`), and some come back (`putBack`). When one of its periods ends it gives up the rest
 * (`empty`) and enters the next ones; when it has rested for long it gives up the rest too, and is `gone`.
 */
export class Lease {
  readonly keyId: string;
  readonly plan: PlanRule;
  /** A draw for it is under way, as there always is while somebody waits. */
  drawing = false;
  /** Undefined when nobody waits. */
  waiting: Line<Waiter> | undefined;
  /** No longer in the book: it holds nothing ahead, and what comes back for it goes to the store. */
  gone = false;
  #counting = noneYet;
  #lastUsed: readonly number[] | undefined;
  #lastCounters = noneYet.counters;
  #units = 0;
  /** What a draw that is under way may leave here; the store may know of it already. */
  #coming = 0;
  #told = 0;
  /** Units drawn ahead by the last draw, and the level at which the next draw starts before they are gone. */
  #size = 0;
  #refillBelow = -1;
  /** Units reserved since the last draw, which was at `#drawnAt`. Monotonic time, like all that follow. */
  #spent = 0;
  #drawnAt: number;
  /** What the costliest request cost that was served from here lately, and when that was. */
  #costliest = 1;
  #costliestAt = -Infinity;
  #touchedAt: number;
  /** Until then the store is not asked again for `#deniedNeed` units or more: it has just said no. */
  #deniedUntil = 0;
  #deniedNeed = 0;

  /** Holds nothing yet, in no periods. */
  constructor(keyId: string, plan: PlanRule, mono: number) {
    this.keyId = keyId;
    this.plan = plan;
    this.#drawnAt = mono;
    this.#touchedAt = mono;
  }

  get units(): number {
    return this.#units;
  }

  /** Units that the store may believe are held here, or will when a step that waits is taken: no less than it does. */
  get told(): number {
    return this.#told;
  }

  /** How many units it is meant to hold ahead; `units` is how many it has. */
  get size(): number {
    return this.#size;
  }

  /** The counters of the current periods. Reservations are matched to it by identity. */
  get counters(): readonly Counter[] {
    return this.#counting.counters;
  }

  /** What the store last said of each counter, this process's own units included; undefined = nothing yet. */
  get used(): readonly number[] | undefined {
    return this.#lastCounters === this.counters ? this.#lastUsed : undefined;
  }

  /** What the store last said, if not of the current periods then of those before. */
  get lastUsed(): readonly number[] | undefined {
    return this.#lastUsed;
  }

  /** The counters of `lastUsed`. */
  get lastCounters(): readonly Counter[] {
    return this.#lastCounters;
  }

  /** Whether what is held may be spent now: all of its periods run, and no clock has jumped since. */
  isCurrent(time: StoreTime, mono: number): boolean {
    return runsAt(this.#counting, time.latest(mono)) && this.#counting.trust === time.trust;
  }

  /** Whether these are its counters, and all of their periods run. */
  isOf(counters: readonly Counter[], time: StoreTime, mono: number): boolean {
    return this.counters === counters && this.isCurrent(time, mono);
  }

  /** Units held for the periods that contain an instant. */
  unitsAt(at: number): number {
    return runsAt(this.#counting, at) ? this.#units : 0;
  }

  /** Points the empty lease at the periods that run at `at` by the store's clock. */
  enterPeriods(at: number, trust: number): void {
    this.#counting = countingAt(this.plan, at, trust);
    this.#resize(0);
    this.#deniedUntil = 0;
  }

  /** Spends units that are held. */
  take(cost: number, mono: number): Reservation {
    this.#units -= cost;
    this.#spent += cost;
    this.#touchedAt = mono;
    if (cost >= this.#costliest || mono - this.#costliestAt > paceMs) {
      this.#costliest = Math.max(cost, 1);
      this.#costliestAt = mono;
    }
    return new Reservation(this, cost, false);
  }

  /** Whether few enough are left that more should be drawn. */
  get isLow(): boolean {
    return this.#units < this.#refillBelow;
  }

  /** Units that were not spent come back to stay. */
  putBack(units: number): void {
    this.#units += units;
  }

  /** Pays a debt, as far as it goes. Returns what was paid. */
  pay(units: number): number {
    return this.#takeOut(units);
  }

  /** Takes all units out, for a step that tells the store that none is held. */
  empty(): number {
    this.#told = 0;
    return this.#takeOut(this.#units);
  }

  /** Takes out what was drawn for requests that have since left. */
  takeSurplus(): number {
    return this.waiting === undefined ? this.#takeOut(Math.max(0, this.#units - this.#size)) : 0;
  }

  /** Takes out what a key that has slowed down no longer needs, and halves the weight of what is known of its pace. */
  trim(mono: number): number {
    const elapsedMs = mono - this.#drawnAt;
    if (elapsedMs < paceMs) return 0;
    const needed = this.sizeAhead(mono, 0);
    this.#spent /= 2;
    this.#drawnAt += elapsedMs / 2;
    if (this.#units < 2 * needed) return 0;
    this.#resize(needed);
    return this.#takeOut(this.#units - needed);
  }

  #takeOut(most: number): number {
    const units = Math.min(this.#units, most);
    this.#units -= units;
    return units;
  }

  restedMs(mono: number): number {
    return mono - this.#touchedAt;
  }

  /** What the requests in line cost together. */
  get costOfLine(): number {
    return this.waiting?.guests().reduce((units, { cost }) => units + cost, 0) ?? 0;
  }

  /** How many units to hold beyond those that the line costs. */
  sizeAhead(mono: number, costOfLine: number): number {
    return sizeLease({
      spent: this.#spent,
      elapsedMs: mono - this.#drawnAt,
      last: this.#size,
      remaining: this.remainingInStore - costOfLine,
      costliest: this.#costliest,
    });
  }

  /** Whether too few units are left to hold any while others could spend them. */
  get isNearEnd(): boolean {
    return isNearEnd(this.remainingInStore, this.#costliest);
  }

  /** The store is asked for units, `size` of them ahead, after which `most` may be held. */
  beginDraw({ size, most }: { readonly size: number; readonly most: number }, mono: number): void {
    this.#size = size;
    this.#coming = most;
    this.#spent = 0;
    this.#drawnAt = mono;
  }

  /** The draw is over, or the lease is closed, and nothing it brings stays. */
  expectNoMore(): void {
    this.#coming = 0;
  }

  /** Takes in what was drawn; `held` is what the store was told with the draw. A step since may have told it more. */
  fill(units: number, used: readonly number[], held: number): void {
    this.#units += units;
    this.#told = Math.max(this.#told, held + units);
    this.#noteAnswer(used);
    this.#deniedUntil = 0;
    this.#resize(this.#size);
  }

  /** The store has fewer units left than were asked for. */
  noteExhausted(used: readonly number[]): void {
    this.#noteAnswer(used);
    this.#resize(0);
  }

  /** Nothing is drawn ahead until the next draw. */
  drawNoneAhead(): void {
    this.#refillBelow = -1;
  }

  /** A request that lacks this many units is turned away until then. */
  denyFrom(need: number, until: number): void {
    this.#deniedNeed = need;
    this.#deniedUntil = until;
  }

  endDenial(): void {
    this.#deniedUntil = 0;
  }

  /** Whether it knows of nothing but a draw that was spent at once. */
  isBare(mono: number): boolean {
    return this.#units === 0 && this.#size === 0 && this.#told === 0 && !this.hasDenied(mono);
  }

  /** Whether a request has just been turned away. */
  hasDenied(mono: number): boolean {
    return mono < this.#deniedUntil;
  }

  /** Whether the store would say no to a request of this cost as well. */
  denies(cost: number, mono: number): boolean {
    return this.hasDenied(mono) && cost - this.#units >= this.#deniedNeed;
  }

  /** The answer to a request that the quotas turn away: a costly one may have to wait for another period than a cheap one. */
  deny(cost: number): Denial {
    const { used } = this;
    let until = 0;
    for (const [index, { limit, periodEnd }] of this.counters.entries()) {
      const left = limit - (used?.[index] ?? 0) + this.#units;
      if (left >= cost) continue;
      // A request for more than a quota ever has waits in vain, as does one on a lifetime that is used up.
      until = Math.max(until, limit < cost ? endOfTime : periodEnd);
    }
    return { kind: 'exhausted', lease: this, until: until === 0 ? this.#counting.until : until };
  }

  /** Units that the key has left over all of its quotas by the store's last answer, without those held here. */
  get remainingInStore(): number {
    const { used } = this;
    if (used === undefined) return Number.MAX_SAFE_INTEGER;
    let least = Number.MAX_SAFE_INTEGER;
    for (const [index, counter] of this.counters.entries()) {
      least = Math.min(least, counter.limit - (used[index] ?? 0));
    }
    return Math.max(0, least);
  }

  /** Notes units charged to the store or given back to it, so that what is known of the rest stays near the truth. */
  noteUsed(units: number): void {
    const { used } = this;
    if (used !== undefined) this.#lastUsed = used.map((one) => Math.max(0, one + units));
  }

  /**
   * How many are held of a counter, or come with the draw that is under way: none of one that it does not count in, as of a period
   * that has ended. The store may have taken the draw before it hears this, and usage that is set then would count too little on top.
   */
  heldOf({ name, periodStart }: Counter): number {
    const isOwn = this.counters.some((own) => own.name === name && own.periodStart === periodStart);
    return isOwn ? this.#heldSoon : 0;
  }

  /**
   * The store is told how many are held. For counters that the order leaves out it still believes what it was told before, and for
   * all of them where it has taken the step already.
   */
  noteTold(counters: readonly Counter[], again: boolean): void {
    const replacesAll = this.counters === counters && !again;
    this.#told = replacesAll ? this.#heldSoon : Math.max(this.#told, this.#heldSoon);
  }

  get #heldSoon(): number {
    return Math.max(this.#units, this.#coming);
  }

  #noteAnswer(used: readonly number[]): void {
    this.#lastUsed = used;
    this.#lastCounters = this.counters;
  }

  /** With a small lease each draw is noticed anyway, so none is drawn before another is used up. */
  #resize(size: number): void {
    this.#size = size;
    this.#refillBelow = size >= 8 ? Math.floor(size / 4) : -1;
  }
}

/** What a denial says about the key's quotas. */
export interface Denial {
  readonly kind: 'exhausted';
  readonly lease: Lease;
  /** When the last period that has too little left ends, by the store's clock; the end of time if waiting is in vain. */
  readonly until: number;
}

/** Units that one request has reserved. Its owner settles it, or gives it back, once. */
export class Reservation {
  readonly kind = 'reservation';
  readonly lease: Lease;
  readonly counters: readonly Counter[];
  readonly units: number;
  /** Granted without the store's answer, during an outage. */
  readonly owed: boolean;

  constructor(lease: Lease, units: number, owed: boolean) {
    this.lease = lease;
    this.counters = lease.counters;
    this.units = units;
    this.owed = owed;
  }
}
