import type { PeriodRule } from './plan-rule.ts';

/** Where a period starts, as it is written: a weekday (1 = Monday), a day of the month, or a month and day. */
export type Anchor =
  | { readonly kind: 'weekday'; readonly day: number }
  | { readonly kind: 'day'; readonly day: number }
  | { readonly kind: 'month-day'; readonly month: number; readonly day: number };

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** The regular expressions of the words in a quota, for editors that check the file without this code. */
export const anchorPattern = `^(${weekdays.join('|')}|0?[1-9]|[12][0-9]|3[01]|(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))$`;
export const timePattern = '^([01][0-9]|2[0-3]):[0-5][0-9]$';
export const percentPattern = '^([1-9][0-9]?|100)%$';

/** Reads `monday`, `15` or `04-01`; undefined for anything else, including days that no year has. */
export function parseAnchor(text: string | number): Anchor | undefined {
  const word = String(text);
  if (!new RegExp(anchorPattern).test(word)) return undefined;
  const weekday = weekdays.indexOf(word);
  if (weekday !== -1) return { kind: 'weekday', day: weekday + 1 };
  const [first = 0, second] = word.split('-').map(Number);
  if (second === undefined) return { kind: 'day', day: first };
  return second <= daysIn(first) ? { kind: 'month-day', month: first, day: second } : undefined;
}

/** Reads `06:00` as minutes after midnight. */
export function parseTime(text: string): number | undefined {
  if (!new RegExp(timePattern).test(text)) return undefined;
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Writes an anchor as it is written in the file; undefined for the first day of its kind. */
export function printAnchor({ per, anchorMonth, anchorDay }: PeriodRule): string | undefined {
  if (anchorMonth === 1 && anchorDay === 1) return undefined;
  if (per === 'week') return weekdays[anchorDay - 1];
  return per === 'year' ? `${twoDigits(anchorMonth)}-${twoDigits(anchorDay)}` : String(anchorDay);
}

/** Writes minutes after midnight as `06:00`. */
export function printTime(minutes: number): string {
  return `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** Reads `80%` as 80. */
export function parsePercent(text: string): number | undefined {
  return new RegExp(percentPattern).test(text) ? Number.parseInt(text, 10) : undefined;
}

/** Whether the text is the name of a time zone. Offsets such as +01:00 are not: they have no summer time. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(text)) return false;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text);
    return true;
  } catch {
    return false;
  }
}

/** In a leap year, as 29 February can be meant: other years clamp it. */
function daysIn(month: number): number {
  return Temporal.PlainYearMonth.from({ year: 2024, month }).daysInMonth;
}
