import type { PeriodRule, PlanRule } from '../config/plan-rule.ts';
import type { Counter } from '../stores/ledger.ts';
import { Unreadable } from '../stores/ledger.ts';
import { currentPeriod, type Period } from './periods.ts';

/** The counters of a plan's quotas in the periods that hold an instant, and from when until when all of these run. */
export interface Counting {
  /** In the order of the quotas. */
  readonly counters: readonly Counter[];
  readonly from: number;
  readonly until: number;
}

/** What all leases of the plan share for as long as it holds: there is one of these for each key in use. */
const latest = new WeakMap<PlanRule, Counting>();

/** One object for as long as the periods last. */
export function countingAt(plan: PlanRule, at: number): Counting {
  const known = latest.get(plan);
  if (known !== undefined && runsAt(known, at)) return known;
  const found = findCounting(plan, at);
  latest.set(plan, found);
  return found;
}

export function runsAt({ from, until }: Counting, at: number): boolean {
  return from <= at && at < until;
}

function findCounting({ quotas }: PlanRule, at: number): Counting {
  let from = 0;
  let until = Number.MAX_SAFE_INTEGER;
  const counters = quotas.map(({ name, limit, period }) => {
    const { start, end } = periodAt(period, at);
    from = Math.max(from, start);
    until = Math.min(until, end);
    return { name, limit, periodStart: start, periodEnd: end };
  });
  return { counters, from, until };
}

/** A key may have come from a machine that knows more time zones: the period of such a quota cannot be reckoned here. */
function periodAt(rule: PeriodRule, at: number): Period {
  try {
    return currentPeriod(rule, at);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Unreadable(`the time zone ${rule.timezone} of a quota is not known on this machine`);
  }
}
