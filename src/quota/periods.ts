import { rateUnits, type PeriodRule } from '../config/plan-rule.ts';
import { endOfTime } from '../stores/ledger.ts';

/** Half-open: `start` belongs to the period, `end` to the next one. Milliseconds since the epoch. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

/** The period of a key's whole life, with the bounds that the ledger expects. */
export const lifetime: Period = Object.freeze({ start: 0, end: endOfTime });

/**
 * The period that contains the instant. The periods of a rule tile the line: none overlaps another and no instant is left out.
 * The answer is kept until the period's end, so asking often costs only a comparison.
 */
export function currentPeriod(rule: PeriodRule, atMs: number): Period {
  const known = knownPeriods.get(rule);
  if (known !== undefined && holds(known, atMs)) return known;
  // A fraction belongs to the period of its whole millisecond, and Temporal takes only whole ones.
  const found = findPeriod(rule, Math.floor(atMs));
  knownPeriods.set(rule, found);
  return found;
}

const knownPeriods = new WeakMap<PeriodRule, Period>();
const knownSpans = new WeakMap<PeriodRule, OffsetSpan>();

const dayMs = 86_400_000;

function holds(period: Period, atMs: number): boolean {
  return period.start <= atMs && atMs < period.end;
}

function findPeriod(rule: PeriodRule, atMs: number): Period {
  const { per } = rule;
  if (per === 'lifetime') return lifetime;
  if (per === 'second' || per === 'minute' || per === 'hour') return clockPeriod(rule, rateUnits[per], atMs);
  return calendarPeriod(rule, calendars[per], atMs);
}

interface OffsetSpan extends Period {
  readonly offsetMs: number;
}

/**
 * Hours and shorter periods start on a full unit of the wall clock and are cut where its offset from UTC changes, so none is ever
 * longer than its name says. That matters where the change is half an hour (Lord Howe).
 */
function clockPeriod(rule: PeriodRule, lengthMs: number, atMs: number): Period {
  const span = findSpan(rule, atMs);
  const start = Math.floor((atMs + span.offsetMs) / lengthMs) * lengthMs - span.offsetMs;
  return { start: Math.max(start, span.start), end: Math.min(start + lengthMs, span.end) };
}

function findSpan(rule: PeriodRule, atMs: number): OffsetSpan {
  const known = knownSpans.get(rule);
  if (known !== undefined && holds(known, atMs)) return known;
  const at = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(rule.timezone);
  // `previous` finds what lies strictly before its instant, so one millisecond is added to let an exact start count.
  const previous = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
  const next = at.getTimeZoneTransition('next');
  const span = {
    offsetMs: at.offsetNanoseconds / 1_000_000,
    start: previous?.epochMilliseconds ?? Number.MIN_SAFE_INTEGER,
    end: next?.epochMilliseconds ?? endOfTime,
  };
  knownSpans.set(rule, span);
  return span;
}

/** How the periods of a calendar unit are numbered, and when one begins. */
interface Calendar {
  numberOf(rule: PeriodRule, local: Temporal.ZonedDateTime): number;
  startOf(rule: PeriodRule, number: number): number;
}

const calendars: Readonly<Record<'day' | 'week' | 'month' | 'year', Calendar>> = {
  day: {
    numberOf: (_rule, local) => epochDay(local),
    startOf: (rule, number) => firstInstant(rule, dateOf(number)),
  },
  week: {
    numberOf: (rule, local) => Math.floor((epochDay(local) - firstWeekday(rule)) / 7),
    startOf: (rule, number) => firstInstant(rule, dateOf(number * 7 + firstWeekday(rule))),
  },
  month: {
    numberOf: (_rule, local) => local.year * 12 + local.month - 1,
    startOf: (rule, number) =>
      firstInstant(rule, clampedDate(Math.floor(number / 12), (number % 12) + 1, rule.anchorDay)),
  },
  year: {
    numberOf: (_rule, local) => local.year,
    startOf: (rule, number) => firstInstant(rule, clampedDate(number, rule.anchorMonth, rule.anchorDay)),
  },
};

/**
 * Calendar periods are numbered, and the number is guessed from the local date. Neighbours are tried until the instant fits: the
 * anchor may lie later in the period, a night's clock change can repeat the evening before, and a day that a zone skipped (Apia, 30
 * December 2011) is a period of no length that nothing fits into.
 */
function calendarPeriod(rule: PeriodRule, calendar: Calendar, atMs: number): Period {
  const local = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(rule.timezone);
  let number = calendar.numberOf(rule, local);
  let start = calendar.startOf(rule, number);
  while (start > atMs) start = calendar.startOf(rule, --number);
  let end = calendar.startOf(rule, number + 1);
  while (end <= atMs) {
    start = end;
    end = calendar.startOf(rule, ++number + 1);
  }
  return { start, end };
}

/** The day number of the rule's weekday in the first week of January 1970, whose first was a Thursday. */
function firstWeekday(rule: PeriodRule): number {
  return rule.anchorDay - 4;
}

function epochDay(local: Temporal.ZonedDateTime): number {
  return Date.UTC(local.year, local.month - 1, local.day) / dayMs;
}

function dateOf(day: number): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(day * dayMs)
    .toZonedDateTimeISO('UTC')
    .toPlainDate();
}

function clampedDate(year: number, month: number, day: number): Temporal.PlainDate {
  return Temporal.PlainDate.from({ year, month, day }, { overflow: 'constrain' });
}

/**
 * The first instant at which the wall clock shows the date and the anchor time or later: the first of two when the
 * hour comes twice, the end of the gap when it does not come at all.
 */
function firstInstant(rule: PeriodRule, date: Temporal.PlainDate): number {
  const wanted = date.toPlainDateTime({
    hour: Math.floor(rule.anchorMinute / 60),
    minute: rule.anchorMinute % 60,
  });
  const found = wanted.toZonedDateTime(rule.timezone, { disambiguation: 'earlier' });
  if (found.toPlainDateTime().equals(wanted)) return found.epochMilliseconds;
  // `earlier` answers a time in a gap with an instant before the gap, so the next change of the clock is the gap.
  return found.getTimeZoneTransition('next')?.epochMilliseconds ?? found.epochMilliseconds;
}
