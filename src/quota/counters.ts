import type { PeriodRule, PlanRule, QuotaRule } from '../config/plan-rule.ts';
import { endOfTime, type Counter } from '../stores/ledger.ts';
import { keptUntil } from '../stores/retention.ts';
import { Unreadable } from '../stores/store-unavailable.ts';
import { currentPeriod, type Period } from './periods.ts';

/** The counters of a plan's quotas in the periods that contain the instant, in the order of the quotas. */
export function countersAt({ quotas }: PlanRule, at: number): readonly Counter[] {
  return quotas.map((quota) => counterAt(quota, at));
}

/** Those of the periods just before these, as far as the store still keeps them. A lifetime has none before it. */
export function countersBefore({ quotas }: PlanRule, at: number): readonly Counter[] {
  return quotas
    .map((quota) => ({ quota, current: counterAt(quota, at) }))
    .filter(({ current }) => current.periodEnd !== endOfTime)
    .map(({ quota, current }) => counterAt(quota, current.periodStart - 1))
    .filter((counter) => keptUntil(counter) > at);
}

function counterAt({ name, limit, period }: QuotaRule, at: number): Counter {
  const { start, end } = periodAt(period, at);
  return { name, limit, periodStart: start, periodEnd: end };
}

/** A key may come from a machine that knows more time zones: the period of such a quota cannot be computed here. */
function periodAt(rule: PeriodRule, at: number): Period {
  try {
    return currentPeriod(rule, at);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Unreadable(`the time zone ${rule.timezone} of a quota is not known on this machine`);
  }
}
