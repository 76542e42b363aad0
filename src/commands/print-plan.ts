import type { Plan } from '../config/config.ts';
import { printAnchor, printTime } from '../config/period-words.ts';
import { rateUnits, type PeriodRule, type PlanRule, type QuotaRule } from '../config/plan-rule.ts';

/** The limits of a plan as one phrase: `monthly 1000 per month, 10 per second (burst 20), 8 at once`. */
export function printLimits(plan: Plan): string {
  const limits = [
    ...plan.quotas.map(printQuota),
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

function printQuota({ name, limit, period, warnAt }: QuotaRule): string {
  const { per, timezone } = period;
  const details = [
    ...printStart(period),
    ...(timezone === 'UTC' ? [] : [timezone]),
    ...(warnAt === undefined ? [] : [`warns at ${warnAt}%`]),
  ];
  const length = per === 'lifetime' ? 'for life' : `per ${per}`;
  return `${name} ${limit} ${length}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}

/** Where a period starts, unless that is the first day of its kind at midnight. */
function printStart(period: PeriodRule): string[] {
  const anchor = printAnchor(period);
  const time = printTime(period.anchorMinute);
  const words = [
    ...(anchor === undefined ? [] : [`from ${anchor}`]),
    ...(time === '00:00' ? [] : [`at ${time}`]),
  ];
  return words.length === 0 ? [] : [words.join(' ')];
}

const rateUnitNames = new Map<number, string>(Object.entries(rateUnits).map(([name, ms]) => [ms, name]));

function printRate(rate: PlanRule['rate']): string[] {
  if (rate === undefined) return [];
  const burst = rate.burst === rate.limit ? '' : ` (burst ${rate.burst})`;
  return [`${rate.limit} per ${rateUnitNames.get(rate.perMs) ?? `${rate.perMs} ms`}${burst}`];
}

function printConcurrency(concurrency: PlanRule['concurrency']): string[] {
  if (concurrency === undefined) return [];
  return [`${concurrency.limit} at once${concurrency.shared ? ' in all processes' : ''}`];
}
