import type { PeriodRule, PlanRule } from '../config/plan-rule.ts';
import { Unreadable, type Counter } from '../stores/ledger.ts';
import { currentPeriod, type Period } from './periods.ts';

/** The counters of a plan's quotas in the periods that contain the instant, in the order of the quotas. */
export function countersAt({ quotas }: PlanRule, at: number): readonly Counter[] {
  return quotas.map(({ name, limit, period }) => {
    const { start, end } = periodAt(period, at);
    return { name, limit, periodStart: start, periodEnd: end };
  });
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
