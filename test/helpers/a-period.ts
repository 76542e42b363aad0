import type { PeriodRule, PeriodUnit } from '../../src/config/plan-rule.ts';

/** A rule whose parts that are not given hold their defaults. */
export function aPeriod(
  per: PeriodUnit,
  timezone = 'UTC',
  anchor: Partial<Pick<PeriodRule, 'anchorMonth' | 'anchorDay' | 'anchorMinute'>> = {},
): PeriodRule {
  return Object.freeze({ per, timezone, anchorMonth: 1, anchorDay: 1, anchorMinute: 0, ...anchor });
}
