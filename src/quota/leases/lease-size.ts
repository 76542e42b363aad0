/** What decides how many units are drawn ahead of need. */
interface Demand {
  /** Units reserved since the last draw, and how long ago that was. */
  readonly spent: number;
  readonly elapsedMs: number;
  /** Units that the last draw took ahead. */
  readonly last: number;
  /** Units that the store had left by its last answer, after those that waiting requests take. */
  readonly remaining: number;
  /** What the key's costliest request costs. */
  readonly costliest: number;
}

/** Never more units than this are held for one key: it is also the most that a crash can strand. */
const leaseMax = 1000;

/** About a second of the key's pace is held, and at most this part of what is left. */
const horizonMs = 1000;
const shareOfRest = 16;

/**
 * The units to hold ahead. Follows the pace since the last draw, at most doubles from draw to draw, and is zero near the end of the
 * quota, where each request draws exactly what it costs.
 */
export function sizeLease(demand: Demand): number {
  if (isNearEnd(demand.remaining, demand.costliest)) return 0;
  const pace = (demand.spent / Math.max(demand.elapsedMs, 1)) * horizonMs;
  const share = Math.floor(demand.remaining / shareOfRest);
  const size = Math.min(Math.ceil(pace), Math.max(demand.last * 2, 2), leaseMax, share);
  return size > 1 ? size : 0;
}

/** Whether so few requests are left that units held here could be what another process lacks for one. */
export function isNearEnd(remaining: number, costliest: number): boolean {
  return remaining < 2 * shareOfRest * costliest;
}
