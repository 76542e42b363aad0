import { endOfTime } from '../stores/ledger.ts';
import type { Lease } from './leases/lease.ts';

/** What is known here of one quota of a key. What other processes have drawn since this one's last draw is not known. */
export interface QuotaReading {
  readonly name: string;
  readonly limit: number;
  /** More than the limit where it was lowered, or where a request cost more than was left. */
  readonly used: number;
  readonly remaining: number;
  /** Until the period's end, rounded up, never early; undefined for a lifetime. */
  readonly resetInSeconds: number | undefined;
  /** The length of this very period; undefined for a lifetime. */
  readonly windowSeconds: number | undefined;
  /** Whether enough of the limit is used for the caller to be warned. */
  readonly isNearLimit: boolean;
}

/**
 * Reads the quotas of a lease; none before the store has first said something. Until it says something about new periods, an
 * answer tells how those ended in which its request began.
 */
export function readQuotas(lease: Lease, now: number): readonly QuotaReading[] {
  const { lastUsed: used, lastCounters: counters } = lease;
  return counters.map(({ name, limit, periodStart, periodEnd }, index) => {
    const spent = Math.max(0, (used?.[index] ?? limit) - lease.units);
    const warnAt = lease.plan.quotas[index]?.warnAt;
    const endless = periodEnd === endOfTime;
    return {
      name,
      limit,
      used: spent,
      remaining: Math.max(0, limit - spent),
      resetInSeconds: endless ? undefined : secondsUntil(periodEnd, now),
      windowSeconds: endless ? undefined : Math.ceil((periodEnd - periodStart) / 1000),
      isNearLimit: warnAt !== undefined && spent * 100 >= limit * warnAt,
    };
  });
}

/** Whole seconds from one instant to another, rounded up so that they never point before it. */
export function secondsUntil(instant: number, now: number): number {
  return Math.max(0, Math.ceil((instant - now) / 1000));
}
