import type { PlanRule } from '../../config/plan-rule.ts';
import { endOfTime, type Counter } from '../../stores/ledger.ts';
import { countersAt } from '../counters.ts';

/** What a lease counts in: a counter for each quota of its plan, and the span in which the periods of all of them run. */
export interface Counting {
  readonly counters: readonly Counter[];
  readonly from: number;
  readonly until: number;
  /** `StoreTime.trust` when the periods were looked at. */
  readonly trust: number;
}

/** The latest of each plan. All leases of the plan share it, because there is a lease for each key in use. */
const latest = new WeakMap<PlanRule, Counting>();

/**
 * What to count in at an instant. Units and answers are matched by the identity of their list of counters, so there is a new list
 * for other periods, and for the same ones after a clock has jumped (`trust`): they may have ended, and nobody knows yet.
 */
export function countingAt(plan: PlanRule, at: number, trust: number): Counting {
  const known = latest.get(plan);
  if (known !== undefined && known.trust === trust && runsAt(known, at)) return known;
  const counters = countersAt(plan, at);
  const from = Math.max(0, ...counters.map(({ periodStart }) => periodStart));
  const until = Math.min(endOfTime, ...counters.map(({ periodEnd }) => periodEnd));
  const found = { counters, from, until, trust };
  latest.set(plan, found);
  return found;
}

export function runsAt({ from, until }: Counting, at: number): boolean {
  return from <= at && at < until;
}
