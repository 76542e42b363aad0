import { checked } from './checked.ts';
import type { Plan } from './config.ts';
import { parseAnchor, parsePercent, parseTime } from './period-words.ts';
import {
  rateUnits,
  type ConcurrencyRule,
  type PeriodRule,
  type QuotaRule,
  type RateRule,
} from './plan-rule.ts';
import type { RawPlan, RawQuota } from './schema.ts';

/** Turns a plan as written, which has been checked, into the rules that a request meets. */
export function resolvePlan(plan: RawPlan, name: string): Plan {
  return {
    name,
    quotas: plan.quotas.map(resolveQuota),
    rate: plan.rate === undefined ? undefined : resolveRate(plan.rate),
    concurrency: plan.concurrency === undefined ? undefined : resolveConcurrency(plan.concurrency),
    charge: plan.charge,
    consistency: plan.consistency,
    onStoreFailure: plan.onStoreFailure,
  };
}

function resolveQuota(quota: RawQuota): QuotaRule {
  return {
    name: quota.name,
    limit: quota.limit,
    period: resolvePeriod(quota),
    warnAt: quota.warnAt === undefined ? undefined : checked(parsePercent(quota.warnAt)),
  };
}

function resolvePeriod({ per, timezone, anchor, at }: RawQuota): PeriodRule {
  const start = anchor === undefined ? undefined : checked(parseAnchor(anchor));
  return {
    per,
    timezone: timezone ?? 'UTC',
    anchorMonth: start?.kind === 'month-day' ? start.month : 1,
    anchorDay: start?.day ?? 1,
    anchorMinute: at === undefined ? 0 : checked(parseTime(at)),
  };
}

function resolveRate({ limit, per, burst }: NonNullable<RawPlan['rate']>): RateRule {
  return { limit, perMs: rateUnits[per], burst: burst ?? limit };
}

function resolveConcurrency(concurrency: NonNullable<RawPlan['concurrency']>): ConcurrencyRule {
  return typeof concurrency === 'number' ? { limit: concurrency, shared: false } : concurrency;
}
