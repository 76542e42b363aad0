import { endOfTime, type Counter } from './ledger.ts';

/** A counter outlives its period by this many more, within these bounds: counters of short periods would pile up in a day. */
const periodsKept = 24;
const counterKeptMinMs = 60_000;
const counterKeptMaxMs = 86_400_000;

/**
 * Until when a counter is kept, so that late steps still find it, as do requests after the store's clock was briefly ahead:
 * `endOfTime` for a lifetime.
 */
export function keptUntil({ periodStart, periodEnd }: Counter): number {
  if (periodEnd === endOfTime) return periodEnd;
  const keptMs = Math.min(periodsKept * (periodEnd - periodStart), counterKeptMaxMs);
  return periodEnd + Math.max(keptMs, counterKeptMinMs);
}

/** A process that has said nothing about its lease for this long has died; the lease is no longer shown. */
export const leaseToldMs = 3_600_000;

/** A place that expires later than this is from a clock that was ahead: none is taken for longer. */
export const placeExpiresMaxMs = 60_000;
