import type { Line, Spot } from '../../collections/line.ts';
import type { RoomSpot } from '../../waiting/waiting-room.ts';
import type { Counter } from '../../stores/ledger.ts';
import { countingAt, runsAt, type Counting } from './counting.ts';
import type { PlanRule } from '../../config/plan-rule.ts';
import type { StoreTime } from './store-time.ts';

/**
 * Calls back, with the reason, when the client leaves: at once if it has left, and then there is nothing to stop. Returns how to
 * stop it.
 */
export type WhenLeft = (tell: (reason: unknown) => void) => () => void;

/** What a request asks for. */
export interface ReserveOrder {
  readonly keyId: string;
  readonly plan: PlanRule;
  /** Units of every quota; 0 asks no quota at all. */
  readonly cost: number;
  /** When the client leaves, the wait for a draw rejects with the reason, and nothing stays reserved. */
  readonly whenLeft?: WhenLeft;
}

/** A request that waits for a draw. */
export interface Waiter {
  readonly lease: Lease;
  readonly cost: number;
  readonly resolve: (answer: Hold | Denial) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening for the client's leaving. */
  deafen: (() => void) | undefined;
  /** In the line of the key, and among all who wait. */
  inLine: Spot<Waiter> | undefined;
  inRoom: RoomSpot<Waiter> | undefined;
}

/**
 * The units of one key that this process has drawn and not spent, drawn from all of the key's quotas together. They
 * are good for the very periods they were drawn from, so until the earliest of those ends.
 */
export interface Lease {
  readonly keyId: string;
  readonly plan: PlanRule;
  /** The counters of the current periods. Holds compare the list of them by identity. */
  counting: Counting;
  /** What the store last said of each counter, this process's own units included; undefined = nothing yet. */
  used: readonly number[] | undefined;
  units: number;
  /** Units that the store was last told are held here. */
  told: number;
  /** Units drawn ahead by the last draw, and the level at which the next draw starts before they are gone. */
  size: number;
  refillBelow: number;
  /** Units reserved since the last draw, which was at `drawnAt`. Monotonic time, as all that follows. */
  spent: number;
  drawnAt: number;
  touchedAt: number;
  drawing: boolean;
  /** Undefined when nobody waits. */
  waiting: Line<Waiter> | undefined;
  /** Until then the store is not asked again for `deniedNeed` units or more: it has just said no. */
  deniedUntil: number;
  deniedNeed: number;
  /** No longer in the book: it holds nothing ahead, and what comes back for it goes to the store. */
  gone: boolean;
}

/** What a denial tells of the key's quotas. */
export interface Denial {
  readonly kind: 'exhausted';
  readonly lease: Lease;
  /** When the last period of which too little is left ends, by the store's clock; the end of time if waiting is in vain. */
  readonly until: number;
}

/** Units that one request has reserved. Whoever has it settles it, or gives it back, once. */
export class Hold {
  readonly kind = 'hold';
  readonly lease: Lease;
  readonly counters: readonly Counter[];
  readonly units: number;
  /** Granted without the store's word, during an outage. */
  readonly owed: boolean;

  constructor(lease: Lease, units: number, owed: boolean) {
    this.lease = lease;
    this.counters = lease.counting.counters;
    this.units = units;
    this.owed = owed;
  }
}

const noneYet: Counting = { counters: [], from: 0, until: 0, trust: -1 };

/** A lease of nothing yet, in no periods. */
export function createLease(keyId: string, plan: PlanRule, mono: number): Lease {
  return {
    keyId,
    plan,
    counting: noneYet,
    used: undefined,
    units: 0,
    told: 0,
    size: 0,
    refillBelow: -1,
    spent: 0,
    drawnAt: mono,
    touchedAt: mono,
    drawing: false,
    waiting: undefined,
    deniedUntil: 0,
    deniedNeed: 0,
    gone: false,
  };
}

/** Points an empty lease at the periods that run at `at` by the store's clock. */
export function enterPeriods(lease: Lease, at: number, trust: number): void {
  lease.counting = countingAt(lease.plan, at, trust);
  lease.used = undefined;
  lease.told = 0;
  lease.size = 0;
  lease.refillBelow = -1;
  lease.deniedUntil = 0;
}

/** Sets how much is held ahead. Of a small lease each draw is noticed anyway, so none is drawn before the end of another. */
export function resize(lease: Lease, size: number): void {
  lease.size = size;
  lease.refillBelow = size >= 8 ? Math.floor(size / 4) : -1;
}

/** Lets what is known of the pace count half, so that what comes now counts as much as all that came before. */
export function forgetHalf(lease: Lease, elapsedMs: number): void {
  lease.spent /= 2;
  lease.drawnAt += elapsedMs / 2;
}

/** Whether what the lease holds may be spent now: all of its periods run, and no clock has jumped since. */
export function isCurrent(lease: Lease, time: StoreTime, mono: number): boolean {
  return runsAt(lease.counting, time.latest(mono)) && lease.counting.trust === time.trust;
}

/** Whether a lease still spends units of the periods in which these counters were read. */
export function isLive(lease: Lease, counters: readonly Counter[], time: StoreTime, mono: number): boolean {
  return !lease.gone && isOf(lease, counters, time, mono);
}

/** Whether these counters are those of the lease's periods, and all of them run. */
export function isOf(lease: Lease, counters: readonly Counter[], time: StoreTime, mono: number): boolean {
  return lease.counting.counters === counters && isCurrent(lease, time, mono);
}

/** Units that the key has left over all of its quotas at the store's last word, without those held here. */
export function remainingInStore(lease: Lease): number {
  if (lease.used === undefined) return Number.MAX_SAFE_INTEGER;
  let least = Number.MAX_SAFE_INTEGER;
  for (const [index, counter] of lease.counting.counters.entries()) {
    least = Math.min(least, counter.limit - (lease.used[index] ?? 0));
  }
  return Math.max(0, least);
}

/** Notes that units went back to the store, so that what is told of the rest stays near the truth. */
export function lowerUsed(lease: Lease, units: number): void {
  if (lease.used !== undefined) lease.used = lease.used.map((used) => Math.max(0, used - units));
}

/** Notes that units are charged to the store, so that nothing is drawn ahead of a quota that they exhaust. */
export function raiseUsed(lease: Lease, units: number): void {
  if (lease.used !== undefined) lease.used = lease.used.map((used) => used + units);
}

/** What is told to a request that the quotas turn away: a dearer one may have to wait for another period than a cheap one. */
export function deny(lease: Lease, cost: number): Denial {
  let until = 0;
  for (const [index, { limit, periodEnd }] of lease.counting.counters.entries()) {
    const left = limit - (lease.used?.[index] ?? 0) + lease.units;
    if (left >= cost) continue;
    // Whoever asks for more than a quota ever has waits in vain, as does who has used up a lifetime.
    until = Math.max(until, limit < cost ? Number.MAX_SAFE_INTEGER : periodEnd);
  }
  return { kind: 'exhausted', lease, until: until === 0 ? lease.counting.until : until };
}
