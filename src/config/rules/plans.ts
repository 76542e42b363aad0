import { checked } from '../checked.ts';
import { parseAnchor, type Anchor } from '../period-words.ts';
import type { RawConfig, RawQuota } from '../schema.ts';
import { checkDistinct, type Report, type Rule } from './draft.ts';

export const quotaNamesAreDistinct: Rule = ({ config }, report) => {
  for (const { quotas } of Object.values(config.plans)) checkDistinct(quotas, 'name', report);
};

export const periodsStartWhereTheyCan: Rule = ({ config }, report) => {
  for (const quota of quotasOf(config)) checkStart(quota, report);
};

/** Names of zones that mean to most people the time of a place, and to computers that of its winter all year. */
const winterZones: ReadonlyMap<string, string> = new Map([
  ['EST', 'America/New_York'],
  ['MST', 'America/Denver'],
]);

export const zonesHaveSummers: Rule = ({ config }, report) => {
  for (const quota of quotasOf(config)) {
    const place = winterZones.get(quota.timezone?.toUpperCase() ?? '');
    if (place !== undefined)
      report.warning(quota, 'timezone', `knows no summer time, write ${place} where there is one`);
  }
};

function quotasOf({ plans }: RawConfig): readonly RawQuota[] {
  return Object.values(plans).flatMap(({ quotas }) => quotas);
}

/**
 * A route that no plan can ever pay refuses every request of keys without a quota of their own, which the store may hold. A route
 * that some plans can pay is for their keys.
 */
export const costsFitQuotas: Rule = ({ config }, report) => {
  const narrowest = Object.values(config.plans).map(({ quotas }) => quotas.toSorted(byLimit)[0]);
  const quotas = narrowest.filter((quota) => quota !== undefined);
  const most = quotas.toSorted(byLimit).at(-1);
  if (most === undefined || quotas.length < narrowest.length) return;
  for (const route of config.routes) {
    if (route.cost <= most.limit) continue;
    const why = `is more than any plan can pay, the most is the limit of ${report.mention(most)}; keys need a quota of their own for it`;
    report.warning(route, 'cost', why);
  }
};

function byLimit(one: RawQuota, other: RawQuota): number {
  return one.limit - other.limit;
}

/** The units whose start can be chosen, with the anchor that fits and how it is written. */
const starts: Readonly<Partial<Record<RawQuota['per'], Start>>> = {
  day: { kind: undefined, cure: 'a day starts at a time, write at: "06:00"' },
  week: { kind: 'weekday', cure: 'a week starts on a weekday such as monday' },
  month: { kind: 'day', cure: 'a month starts on a day such as 15' },
  year: { kind: 'month-day', cure: 'a year starts on a month and day such as 04-01' },
};

interface Start {
  readonly kind: Anchor['kind'] | undefined;
  readonly cure: string;
}

function checkStart(quota: RawQuota, report: Report): void {
  const { per, anchor, at, timezone } = quota;
  const start = starts[per];
  const unit = per === 'hour' ? 'an hour' : `a ${per}`;
  if (per === 'lifetime' && timezone !== undefined)
    report.problem(quota, 'timezone', 'has no meaning for a lifetime, which never starts again');
  if (at !== undefined && start === undefined)
    report.problem(quota, 'at', `has no meaning for ${unit}, only for a day, week, month or year`);
  if (anchor === undefined) return;
  if (start === undefined)
    report.problem(quota, 'anchor', `has no meaning for ${unit}, only for a week, month or year`);
  else if (checked(parseAnchor(anchor)).kind !== start.kind)
    report.problem(quota, 'anchor', `does not fit per: ${per}, ${start.cure}`);
}
