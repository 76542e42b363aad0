import type { PlanRule } from '../config/plan-rule.ts';
import type { Counter } from '../stores/ledger.ts';
import { currentPeriod } from './periods.ts';

/** The counters of a plan's quotas in the periods that hold the instant, in the order of the quotas. */
export function countersAt({ quotas }: PlanRule, at: number): Counter[] {
  return quotas.map(({ name, limit, period }) => {
    const { start, end } = currentPeriod(period, at);
    return { name, limit, periodStart: start, periodEnd: end };
  });
}
