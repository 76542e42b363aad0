import type { PeriodRule, PeriodUnit, PlanRule, QuotaRule } from '../../src/config/plan-rule.ts';

/** A plan without limits, with what the test gives it. */
export function aPlan(parts: Partial<PlanRule> = {}): PlanRule {
  return {
    quotas: [],
    rate: undefined,
    concurrency: undefined,
    charge: 'answered',
    consistency: 'leased',
    onStoreFailure: 'refuse',
    ...parts,
  };
}

/** A quota over a period of UTC. */
export function aQuota(limit: number, per: PeriodUnit = 'month', parts: Partial<QuotaRule> = {}): QuotaRule {
  return { name: per, limit, period: aPeriod(per), warnAt: undefined, ...parts };
}

/** A period whose parts that are not given hold their defaults. */
export function aPeriod(
  per: PeriodUnit,
  timezone = 'UTC',
  anchor: Partial<Pick<PeriodRule, 'anchorMonth' | 'anchorDay' | 'anchorMinute'>> = {},
): PeriodRule {
  return Object.freeze({ per, timezone, anchorMonth: 1, anchorDay: 1, anchorMinute: 0, ...anchor });
}
