/** When a request is charged: sent upstream at all, answered below 500, or answered with success. */
export type Charge = 'forwarded' | 'answered' | 'success';

/** What happens to a request whose quota cannot be asked: it is refused, or let through and counted later. */
export type OnStoreFailure = 'refuse' | 'allow';

/** `leased` draws units ahead of need; `strict` never holds a unit that no request waits for. */
export type Consistency = 'leased' | 'strict';

/** All limits of a plan. Complete: the path of a request never thinks about defaults. */
export interface PlanRule {
  readonly quotas: readonly QuotaRule[];
  readonly rate: RateRule | undefined;
  readonly concurrency: ConcurrencyRule | undefined;
  readonly charge: Charge;
  readonly consistency: Consistency;
  readonly onStoreFailure: OnStoreFailure;
}

export interface QuotaRule {
  /** Unique in the plan; lower-case letters, digits, `_` and `-`, so that it can stand in a header as it is. */
  readonly name: string;
  readonly limit: number;
  readonly period: PeriodRule;
  /** The percentage of the limit from which callers and the log are warned; undefined = never. */
  readonly warnAt: number | undefined;
}

/** The units over which a rate can be said, in milliseconds. */
export const rateUnits = { second: 1000, minute: 60_000, hour: 3_600_000 } as const;

/** A rate as GCRA: `limit` requests per `perMs` in the long run, `burst` at once after a rest. */
export interface RateRule {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/** How many requests of a key may be in flight: in each process, or in all of them together when shared. */
export interface ConcurrencyRule {
  readonly limit: number;
  readonly shared: boolean;
}

/** The calendar units over which a quota can count. */
export const periodUnits = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year', 'lifetime'] as const;
export type PeriodUnit = (typeof periodUnits)[number];

export function isPeriodUnit(word: unknown): word is PeriodUnit {
  return periodUnits.some((unit) => unit === word);
}

/** When a quota starts again. Complete: what a unit does not need holds its default. */
export interface PeriodRule {
  readonly per: PeriodUnit;
  /** An IANA name; ignored for a lifetime. */
  readonly timezone: string;
  /** 1 to 12, for a year. */
  readonly anchorMonth: number;
  /** Month and year: day of the month, clamped to the month's end. Week: weekday, 1 = Monday. Otherwise ignored. */
  readonly anchorDay: number;
  /** Minutes after midnight on the wall clock, for a day and longer. */
  readonly anchorMinute: number;
}

/** The most units that one request can cost, whatever the configuration or the upstream says. */
export const costMax = 1_000_000;
