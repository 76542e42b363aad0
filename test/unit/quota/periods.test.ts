import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { PeriodRule, PeriodUnit } from '../../../src/config/plan-rule.ts';
import { currentPeriod } from '../../../src/quota/periods.ts';
import { aPeriod } from '../../helpers/a-plan.ts';

const zones = [
  'UTC',
  'America/New_York',
  'America/Sao_Paulo',
  'America/St_Johns',
  'America/Havana',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Europe/Dublin',
  'Africa/Casablanca',
];

const calendarUnits = ['day', 'week', 'month', 'year'] as const;
const clockUnits = ['second', 'minute', 'hour'] as const;

const anInstant = fc.integer({ min: Date.UTC(1985, 0, 1), max: Date.UTC(2060, 0, 1) });

const aRule = (units: readonly PeriodUnit[]): fc.Arbitrary<PeriodRule> =>
  fc
    .record({
      per: fc.constantFrom(...units),
      timezone: fc.constantFrom(...zones),
      anchorMonth: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 31 }),
      anchorMinute: fc.oneof(fc.constant(0), fc.constant(150), fc.integer({ min: 0, max: 1439 })),
    })
    .map(({ per, timezone, anchorMonth, day, anchorMinute }) =>
      aPeriod(per, timezone, {
        anchorMonth,
        anchorDay: per === 'week' ? (day % 7) + 1 : day,
        anchorMinute,
      }),
    );

test('the periods of every rule tile the line: neighbours touch and each instant is in the one it is told', () => {
  fc.assert(
    fc.property(aRule([...calendarUnits, ...clockUnits]), anInstant, (rule, at) => {
      const period = currentPeriod(rule, at);
      assert.ok(period.start <= at && at < period.end);
      assert.deepEqual(currentPeriod(rule, period.start), period);
      assert.deepEqual(currentPeriod(rule, period.end - 1), period);
      assert.equal(currentPeriod(rule, period.end).start, period.end);
      assert.equal(currentPeriod(rule, period.start - 1).end, period.start);
      assert.deepEqual(
        currentPeriod({ ...rule }, at),
        period,
        'an answer does not depend on what was asked before',
      );
    }),
    { numRuns: 400 },
  );
});

test('calendar periods start when the wall clock first shows their anchor, found by scanning every minute', () => {
  fc.assert(
    fc.property(aRule(calendarUnits), anInstant, (rule, at) => {
      const wall = createWall(rule.timezone);
      const starts = anchorsAround(rule, wall(at)).map((anchor) => firstMinuteAt(wall, anchor));
      const start = starts.findLast((candidate) => candidate <= at);
      const end = starts.find((candidate) => candidate > at);
      assert.deepEqual(currentPeriod(rule, at), { start, end });
    }),
    { numRuns: 60 },
  );
});

test('hours, minutes and seconds start on the full unit of the wall clock or where it is put', () => {
  fc.assert(
    fc.property(aRule(clockUnits), anInstant, (rule, at) => {
      const length = { second: 1000, minute: 60_000, hour: 3_600_000 }[rule.per as 'hour'];
      const wall = createWall(rule.timezone);
      const { start, end } = currentPeriod(rule, at);
      const offset = (t: number): number => wall(t) - Math.floor(t / 1000) * 1000;
      const changes = (t: number): boolean => offset(t) !== offset(t - 1000);
      assert.ok(end - start <= length);
      assert.ok(changes(start) || wall(start) % length === 0);
      assert.ok(changes(end) || wall(end) % length === 0);
      assert.equal(offset(start), offset(end - 1), 'no change of the clock lies inside');
      assert.ok(changes(start) || changes(end) || end - start === length);
    }),
    { numRuns: 300 },
  );
});

test('a fraction of a millisecond belongs to the period of its whole one', () => {
  const rule = aPeriod('day', 'Europe/Berlin');
  const { start, end } = currentPeriod(rule, 1_700_000_000_000);
  for (const at of [end - 0.25, start + 0.25])
    assert.deepEqual(currentPeriod(aPeriod('day', 'Europe/Berlin'), at), { start, end });
});

const table: readonly [string, PeriodRule, string, string, string][] = [
  [
    'New York, the spring day has 23 hours',
    aPeriod('day', 'America/New_York'),
    '2024-03-10T12:00-04:00',
    '2024-03-10T00:00-05:00',
    '2024-03-11T00:00-04:00',
  ],
  [
    'New York, an anchor in the gap is the first instant after it',
    aPeriod('day', 'America/New_York', { anchorMinute: 150 }),
    '2024-03-10T03:00-04:00',
    '2024-03-10T03:00-04:00',
    '2024-03-11T02:30-04:00',
  ],
  [
    'New York, an anchor that comes twice is the first of the two',
    aPeriod('day', 'America/New_York', { anchorMinute: 90 }),
    '2024-11-03T01:30-05:00',
    '2024-11-03T01:30-04:00',
    '2024-11-04T01:30-05:00',
  ],
  [
    'New York, the repeated hour is two hours',
    aPeriod('hour', 'America/New_York'),
    '2024-11-03T01:20-05:00',
    '2024-11-03T01:00-05:00',
    '2024-11-03T02:00-05:00',
  ],
  [
    'Lord Howe, the hour after the gap is half an hour',
    aPeriod('hour', 'Australia/Lord_Howe'),
    '2024-10-06T02:30+11:00',
    '2024-10-06T02:30+11:00',
    '2024-10-06T03:00+11:00',
  ],
  [
    'Apia skipped 30 December 2011, the 29th ends where the 31st starts',
    aPeriod('day', 'Pacific/Apia'),
    '2011-12-29T12:00-10:00',
    '2011-12-29T00:00-10:00',
    '2011-12-31T00:00+14:00',
  ],
  [
    'Apia, a month anchored on the day that was skipped starts after it',
    aPeriod('month', 'Pacific/Apia', { anchorDay: 30 }),
    '2011-12-31T00:00+14:00',
    '2011-12-31T00:00+14:00',
    '2012-01-30T00:00+14:00',
  ],
  [
    'St. John’s, the evening that came again belongs to the day that had begun',
    aPeriod('day', 'America/St_Johns'),
    '2010-11-06T23:30-03:30',
    '2010-11-07T00:00-02:30',
    '2010-11-08T00:00-03:30',
  ],
  [
    'São Paulo, midnight falls into the gap',
    aPeriod('day', 'America/Sao_Paulo'),
    '2018-11-04T12:00-02:00',
    '2018-11-04T01:00-02:00',
    '2018-11-05T00:00-02:00',
  ],
  [
    'a month anchored on the 31st starts on the last day of February in a leap year',
    aPeriod('month', 'UTC', { anchorDay: 31 }),
    '2024-03-15T00:00Z',
    '2024-02-29T00:00Z',
    '2024-03-31T00:00Z',
  ],
  [
    'a year anchored on 29 February',
    aPeriod('year', 'UTC', { anchorMonth: 2, anchorDay: 29 }),
    '2024-03-01T00:00Z',
    '2024-02-29T00:00Z',
    '2025-02-28T00:00Z',
  ],
  ['a week starts on Monday', aPeriod('week'), '2024-01-03T10:00Z', '2024-01-01T00:00Z', '2024-01-08T00:00Z'],
  ['before the epoch', aPeriod('month'), '1969-12-31T23:59Z', '1969-12-01T00:00Z', '1970-01-01T00:00Z'],
];

for (const [name, rule, at, start, end] of table) {
  test(`period: ${name}`, () => {
    const found = currentPeriod(rule, Date.parse(at));
    assert.equal(new Date(found.start).toISOString(), new Date(start).toISOString());
    assert.equal(new Date(found.end).toISOString(), new Date(end).toISOString());
  });
}

test('a lifetime has one period, with the bounds that the ledger expects', () => {
  const rule = aPeriod('lifetime');
  assert.deepEqual(currentPeriod(rule, 1), { start: 0, end: Number.MAX_SAFE_INTEGER });
});

for (const [change, first] of [
  ['forward', '2024-10-06T00:00+10:30'],
  ['back', '2024-04-07T00:00+11:00'],
] as const) {
  test(`hours follow one another over a change of the clock ${change} by half an hour, and back again`, () => {
    const rule = aPeriod('hour', 'Australia/Lord_Howe');
    const hours = [currentPeriod(rule, Date.parse(first))];
    while (hours.length < 5) hours.push(currentPeriod(rule, hours.at(-1)!.end));
    assert.deepEqual(
      hours.map(({ start, end }) => (end - start) / 60_000),
      [60, 60, 30, 60, 60],
    );
    const back = [hours.at(-1)!];
    while (back.length < 5) back.unshift(currentPeriod(rule, back[0]!.start - 1));
    assert.deepEqual(back, hours);
  });
}

/** What a clock on the wall shows, as if it were UTC: milliseconds at the precision of a second. */
function createWall(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 };
    for (const { type, value } of format.formatToParts(at)) {
      if (type in shown) shown[type as keyof typeof shown] = Number(value);
    }
    return Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second);
  };
}

function firstMinuteAt(wall: (at: number) => number, anchor: number): number {
  const day = 86_400_000;
  const offsets = [anchor - day, anchor, anchor + day].map((at) => wall(at) - at);
  let at = anchor - Math.max(...offsets) - 7_200_000;
  while (wall(at) < anchor) at += 60_000;
  return at;
}

/** Wall-clock times at which periods near `shown` begin, in order, worked out day by day. */
function anchorsAround(rule: PeriodRule, shown: number): number[] {
  const day = 86_400_000;
  const reach = { day: 4, week: 10, month: 64, year: 735 }[rule.per as 'day'];
  const first = Math.floor(shown / day) - reach;
  return Array.from({ length: 2 * reach }, (_, index) => (first + index) * day)
    .filter((midnight) => isAnchor(rule, new Date(midnight)))
    .map((midnight) => midnight + rule.anchorMinute * 60_000)
    .filter((anchor) => Math.abs(anchor - shown) < (reach - 1) * day);
}

function isAnchor(rule: PeriodRule, date: Date): boolean {
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const anchored = date.getUTCDate() === Math.min(rule.anchorDay, last);
  if (rule.per === 'day') return true;
  if (rule.per === 'week') return date.getUTCDay() === rule.anchorDay % 7;
  return anchored && (rule.per === 'month' || date.getUTCMonth() + 1 === rule.anchorMonth);
}
