import type { Plan } from './config.ts';
import type { PeriodRule, PlanRule } from './plan-rule.ts';

/** The limits of a plan as one phrase: `monthly 1000 per month, 10 per second (burst 20), 8 at once`. */
export function printLimits(plan: Plan): string {
  const limits = [
    ...plan.quotas.map(({ name, limit, period }) => `${name} ${limit} ${printPeriod(period)}`),
    ...printRate(plan.rate),
    ...printConcurrency(plan.concurrency),
  ];
  if (limits.length === 0) return 'no limits';
  const choices = [
    ...(plan.charge === 'answered' ? [] : [`charge ${plan.charge}`]),
    ...(plan.consistency === 'leased' ? [] : [plan.consistency]),
    ...(plan.onStoreFailure === 'refuse' ? [] : ['allowed without the store']),
  ];
  return [...limits, ...choices].join(', ');
}

function printPeriod({ per, timezone }: PeriodRule): string {
  if (per === 'lifetime') return 'for life';
  return `per ${per}${timezone === 'UTC' ? '' : ` (${timezone})`}`;
}

const perNames = new Map([
  [1000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
]);

function printRate(rate: PlanRule['rate']): string[] {
  if (rate === undefined) return [];
  const burst = rate.burst === rate.limit ? '' : ` (burst ${rate.burst})`;
  return [`${rate.limit} per ${perNames.get(rate.perMs) ?? `${rate.perMs} ms`}${burst}`];
}

function printConcurrency(concurrency: PlanRule['concurrency']): string[] {
  if (concurrency === undefined) return [];
  return [`${concurrency.limit} at once${concurrency.shared ? ' in all processes' : ''}`];
}
