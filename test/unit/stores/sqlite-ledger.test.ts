import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { endOfTime, type Counter } from '../../../src/stores/ledger.ts';
import { createDatabase } from '../../../src/stores/sqlite/create-database.ts';
import { openDatabase } from '../../../src/stores/sqlite/database.ts';
import { prepareUnits } from '../../../src/stores/sqlite/ledger.ts';
import { preparePlaces } from '../../../src/stores/sqlite/places.ts';
import { prepareRates } from '../../../src/stores/sqlite/rates.ts';
import { aCounter, aDraw, HOUR, someUnits } from '../../helpers/ledger-orders.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const START = Date.UTC(2026, 0, 1);

test('the clock of the machine decides to the millisecond which period is current', (t) => {
  const { units, clock } = scene(t);
  const counters = [aCounter({ periodStart: START + 10, periodEnd: START + 20 })];
  const kindAt = (at: number): string => {
    clock.now = START + at;
    return units.draw(aDraw({ counters })).kind;
  };
  assert.deepEqual([9, 10, 19, 20].map(kindAt), ['not_current', 'drawn', 'drawn', 'not_current']);
});

test('a process that has told nothing for an hour holds nothing any more, and one that tells again goes on holding', (t) => {
  const { units, clock } = scene(t);
  const counters = [aCounter({ periodStart: 0, periodEnd: endOfTime })];
  units.draw(aDraw({ counters, want: 4 }));
  clock.now += HOUR - 1;
  units.draw(aDraw({ counters, want: 1, held: 4 }));
  clock.now += HOUR - 1;
  assert.deepEqual(units.readUsage('key', counters), [{ used: 5, leased: 5 }]);
  clock.now += 2;
  assert.deepEqual(units.readUsage('key', counters), [{ used: 5, leased: 0 }]);
});

test('usage that is set is kept for as long as the longest period that was counted in it', (t) => {
  const { units, clock } = scene(t);
  const short = aCounter({ periodStart: START, periodEnd: START + 1_000 });
  const long = { ...short, periodEnd: START + HOUR };
  const takeSteps = (): void => {
    // Enough to look at all counters.
    for (let step = 0; step < 64; step += 1) units.draw(aDraw({ counters: [], keyId: 'other' }));
  };
  const set = (keyId: string, counter: Counter) => units.setUsage({ keyId, counters: [counter], spent: 3 });
  set('short', short);
  for (const counter of [short, long, short]) set('long', counter);
  clock.now = START + 60_500;
  takeSteps();
  const used = () => ['short', 'long'].map((keyId) => units.readUsage(keyId, [long])[0]?.used);
  assert.deepEqual(used(), [3, 3], 'a second is kept for a minute');
  clock.now = START + 61_500;
  takeSteps();
  assert.deepEqual(used(), [0, 3]);
});

test('what a process told an hour ago is not counted beside what is set', (t) => {
  const { units, clock } = scene(t);
  const counters = [aCounter({ periodStart: 0, periodEnd: endOfTime })];
  const set = () => units.setUsage({ keyId: 'key', counters, spent: 5 });
  units.draw(aDraw({ counters, want: 4 }));
  clock.now += HOUR - 1;
  assert.deepEqual(set(), [{ used: 9, leased: 4 }]);
  clock.now += 1;
  assert.deepEqual(set(), [{ used: 5, leased: 0 }]);
});

test('keys of which nothing is held take no room as held', (t) => {
  const { units, rows } = scene(t);
  const counters = [aCounter({ periodStart: 0, periodEnd: endOfTime })];
  units.draw(aDraw({ counters, keyId: 'one', held: -1 }));
  assert.equal(rows('leases'), 0);
  units.draw(aDraw({ counters, keyId: 'two', held: 0 }));
  assert.equal(rows('leases'), 1);
  units.giveBack(someUnits({ counters, keyId: 'two' }));
  assert.equal(rows('leases'), 0);
});

test('old periods, steps and leases go, current ones stay', (t) => {
  const { units, clock, rows } = scene(t);
  for (let day = 0; day < 10; day += 1) {
    clock.now = START + day * 24 * HOUR;
    for (let draw = 0; draw < 40; draw += 1)
      units.draw(aDraw({ counters: daily(day), keyId: `key-${draw % 7}` }));
  }
  // The last period and the two before it, because a counter is kept for a day.
  assert.ok(rows('counters') >= 7 && rows('counters') <= 21, `${rows('counters')} counters`);
  assert.ok(rows('steps') >= 40 && rows('steps') <= 120, `${rows('steps')} steps`);
  assert.ok(rows('leases') <= 28, `${rows('leases')} leases`);
});

test('counters of keys that are never called again go too, and those that go on stay', (t) => {
  const { units, clock, rows } = scene(t);
  const always = [aCounter({ limit: 1_000_000, periodStart: 0, periodEnd: endOfTime })];
  const callAll = (counters: readonly Counter[]): void => {
    for (let key = 0; key < 500; key += 1) units.draw(aDraw({ counters, keyId: `key-${key}`, held: -1 }));
  };
  callAll(daily(0));
  callAll(always);
  clock.now = START + 3 * 24 * HOUR;
  // Four are looked at for each draw, on from where the last look ended, and after the last key comes the first.
  for (let draw = 0; draw < 512; draw += 1) units.draw(aDraw({ counters: always, keyId: 'other' }));
  assert.equal(rows('counters'), 501);
});

test('old steps go as fast where many processes that began together share the work', (t) => {
  const { prepareProcess, clock, rows } = scene(t);
  const processes = Array.from({ length: 16 }, prepareProcess);
  const counters = [aCounter({ limit: 1_000_000, periodStart: 0, periodEnd: endOfTime })];
  let most = 0;
  for (let draw = 0; draw < 4_000; draw += 1) {
    clock.now += 1_000;
    processes[draw % 16]?.draw(aDraw({ counters }));
    if (draw % 100 === 0) most = Math.max(most, rows('steps'));
  }
  // Those of ten minutes, a third more, and 16 of each process that wait for its turn.
  assert.ok(most <= 600 + 200 + 16 * 16, `${most} steps`);
});

test('what processes that are gone held of a quota without end goes, and what one has just told stays', (t) => {
  const { units, clock, rows } = scene(t);
  const counters = [aCounter({ limit: 1_000_000, periodStart: 0, periodEnd: endOfTime })];
  for (let process = 0; process < 20; process += 1) {
    clock.now += 2 * HOUR;
    for (let draw = 0; draw < 16; draw += 1) units.draw(aDraw({ counters, holder: `${process}` }));
  }
  assert.deepEqual([rows('leases'), units.readUsage('key', counters)[0]?.leased], [1, 1]);
  units.giveBack(someUnits({ counters, holder: '19' }));
  assert.equal(rows('leases'), 0);
});

test('a counter outlives its period by as much as that is worth, with what was told of it', (t) => {
  const { units, clock, rows } = scene(t);
  const second = (): Counter =>
    aCounter({ limit: 1_000, periodStart: clock.now, periodEnd: clock.now + 1_000 });
  const hour = aCounter({ name: 'hourly', limit: 10_000, periodStart: START, periodEnd: START + HOUR });
  for (; clock.now < START + HOUR; clock.now += 1_000) units.draw(aDraw({ counters: [second(), hour] }));
  // The hour itself, a minute of seconds, and those that wait for the next time that old ones go.
  assert.ok(rows('counters') <= 1 + 60 + 17, `${rows('counters')} counters`);
  assert.ok(rows('leases') <= 1 + 60 + 17, `${rows('leases')} leases`);
  clock.now = START + 24 * HOUR;
  for (let draw = 0; draw < 20; draw += 1) units.draw(aDraw({ counters: [second()] }));
  assert.equal(units.readUsage('key', [hour])[0]?.used, 3_600);
});

test('a used-up counter lives as long as the longest period that is asked of it', (t) => {
  const { units, clock } = scene(t);
  const [day] = daily(0);
  assert.ok(day);
  const [short, long] = [
    { ...day, limit: 20 },
    { ...day, limit: 20, periodEnd: START + 31 * 24 * HOUR },
  ];
  units.draw(aDraw({ counters: [short], want: 20 }));
  assert.equal(units.draw(aDraw({ counters: [long] })).kind, 'exhausted');
  assert.equal(units.draw(aDraw({ counters: [short] })).kind, 'exhausted');
  clock.now = START + 30 * 24 * HOUR;
  for (let draw = 0; draw < 20; draw += 1) units.draw(aDraw({ counters: daily(30), keyId: 'other' }));
  assert.equal(units.draw(aDraw({ counters: [long] })).kind, 'exhausted');
});

test('steps of a clock that was ahead do not keep those that follow', (t) => {
  const { units, clock, rows } = scene(t);
  const counters = [aCounter({ limit: 1_000_000, periodStart: 0, periodEnd: endOfTime })];
  clock.now = START + 365 * 24 * HOUR;
  for (let draw = 0; draw < 80; draw += 1) units.draw(aDraw({ counters }));
  clock.now = START;
  for (let draw = 0; draw < 400; draw += 1) {
    clock.now += HOUR;
    units.draw(aDraw({ counters }));
  }
  assert.ok(rows('steps') <= 32, `${rows('steps')} steps`);
});

test('old steps go whatever steps follow', (t) => {
  const { units, clock, rows } = scene(t);
  const counters = [aCounter({ limit: 1_000_000, periodStart: 0, periodEnd: endOfTime })];
  const kinds = [
    () => units.draw(aDraw({ counters })),
    () => units.giveBack(someUnits({ counters })),
    () => units.charge(someUnits({ counters })),
    () => units.cancelDraw(aDraw({ counters })),
  ];
  for (const take of kinds) {
    for (let step = 0; step < 64; step += 1) {
      clock.now += HOUR;
      take();
    }
    assert.ok(rows('steps') <= 32, `${rows('steps')} steps`);
  }
});

test('however much is old, a call deletes only a little of it', (t) => {
  const { units, rates, places, clock, rows, database } = scene(t);
  const tables = ['steps', 'counters', 'rates', 'places'];
  database.exec(`
    CREATE TEMP TABLE old AS
      WITH RECURSIVE numbers (n) AS (VALUES (1000) UNION ALL SELECT n + 1 FROM numbers WHERE n < 1999)
      SELECT ' ' || n AS name, ${START} AS at FROM numbers;
    INSERT INTO steps SELECT name, 'key', at, NULL FROM old;
    INSERT INTO counters SELECT name, 'monthly', at, at, 1 FROM old;
    INSERT INTO rates SELECT name, 'rate', at, 1, 1, at FROM old;
    INSERT INTO places SELECT name, 'p', at FROM old`);
  clock.now += HOUR;
  const counters = [aCounter({ periodStart: 0, periodEnd: endOfTime, limit: 1_000_000 })];
  for (let draw = 0; draw < 16; draw += 1) units.draw(aDraw({ counters }));
  rates.takeCells({ keyId: 'key', name: 'rate', intervalMs: 10, burst: 1, want: 1 });
  places.enter({ keyId: 'key', placeId: 'p', limit: 1, expiresInMs: 50 });
  // Up to the 65th row, and two for each one that comes.
  assert.deepEqual(tables.map(rows), [1_000 + 16 - 65, 1_000 + 1 - 65, 1_000 + 1 - 2, 1_000 + 1 - 2]);
});

test('what is held of a current period stays for an hour, also when an old one of its name goes', (t) => {
  const { units, clock, rows } = scene(t);
  const month = aCounter({ name: 'z', limit: 100, periodStart: START, periodEnd: START + 31 * 24 * HOUR });
  units.draw(aDraw({ counters: daily(0) }));
  clock.now = START + 9 * 24 * HOUR;
  const current = [...daily(9), month];
  units.draw(aDraw({ counters: current, want: 3 }));
  clock.now += HOUR - 1;
  for (let draw = 0; draw < 16; draw += 1) units.draw(aDraw({ counters: [month], held: -1, holder: 'b' }));
  const held = units.readUsage('key', current).map(({ leased }) => leased);
  assert.deepEqual([held, rows('leases')], [[3, 3], 2]);
});

test('rates that have rested and places that have expired do not pile up', (t) => {
  const { rates, places, clock, rows } = scene(t);
  for (let index = 0; index < 200; index += 1) {
    clock.now += 100;
    rates.takeCells({ keyId: `key-${index}`, name: 'rate', intervalMs: 10, burst: 1, want: 1 });
    places.enter({ keyId: `key-${index}`, placeId: 'p', limit: 1, expiresInMs: 50 });
  }
  for (const table of ['rates', 'places']) assert.ok(rows(table) <= 2, table);
});

test('a rate that has not rested and a place that has not expired stay, however many others come', (t) => {
  const { rates, places, clock } = scene(t);
  const cells = { keyId: 'key', name: 'rate', intervalMs: 1_000, burst: 5, want: 4 };
  const place = { keyId: 'key', placeId: 'a', limit: 1, expiresInMs: 5_000 };
  rates.takeCells({ ...cells, want: 1 });
  rates.takeCells(cells);
  places.enter(place);
  clock.now += 4_999;
  for (let index = 0; index < 5; index += 1) {
    rates.takeCells({ ...cells, keyId: `key-${index}` });
    places.enter({ ...place, keyId: `key-${index}` });
  }
  assert.deepEqual(rates.takeCells(cells), { kind: 'taken', cells: 4, remaining: 0, now: clock.now });
  assert.equal(places.enter({ ...place, placeId: 'b' }), 'full');
  clock.now += 1;
  assert.equal(places.enter({ ...place, placeId: 'b' }), 'entered');
});

test('a rate that is edited is counted at its new price from then on', (t) => {
  const { rates, clock } = scene(t);
  const slow = { keyId: 'key', name: 'rate', intervalMs: 1_000, burst: 5, want: 5 };
  const fast = { ...slow, intervalMs: 100 };
  rates.takeCells(slow);
  clock.now += 4_900;
  assert.deepEqual(rates.takeCells({ ...fast, want: 1 }), {
    kind: 'taken',
    cells: 1,
    remaining: 3,
    now: clock.now,
  });
  clock.now += 200;
  assert.deepEqual(rates.takeCells(fast), { kind: 'taken', cells: 5, remaining: 0, now: clock.now });
});

test('a rate of a clock that was ahead delays nobody for longer than told', (t) => {
  const { rates, clock } = scene(t);
  const order = { keyId: 'key', name: 'rate', intervalMs: 200, burst: 5, want: 5 };
  clock.now = START + HOUR;
  rates.takeCells(order);
  clock.now = START;
  assert.deepEqual(rates.takeCells(order), { kind: 'too_fast', retryInMs: 200, now: START });
  clock.now += 200;
  assert.deepEqual(rates.takeCells(order), { kind: 'taken', cells: 1, remaining: 0, now: START + 200 });
});

test('a place of a clock that was ahead is free, and taken again by whoever keeps it', (t) => {
  const { places, clock } = scene(t);
  const order = { keyId: 'key', placeId: 'a', limit: 1, expiresInMs: 15_000 };
  clock.now = START + 2 * HOUR;
  places.enter(order);
  clock.now = START;
  assert.equal(places.enter({ ...order, placeId: 'b' }), 'entered');
  places.stay(order);
  places.leave('key', 'b');
  assert.equal(places.enter({ ...order, placeId: 'c' }), 'full');
});

test('who stays for no time has no place either when the clock goes back', (t) => {
  const { places, clock, rows } = scene(t);
  places.stay({ keyId: 'key', placeId: 'nobody', expiresInMs: 0 });
  clock.now -= 10_000;
  assert.equal(places.enter({ keyId: 'key', placeId: 'a', limit: 1, expiresInMs: 15_000 }), 'entered');
  assert.equal(rows('places'), 1);
});

function daily(day: number): Counter[] {
  const periodStart = START + day * 24 * HOUR;
  return [aCounter({ limit: 1_000_000, periodStart, periodEnd: periodStart + 24 * HOUR })];
}

function scene(t: TestContext) {
  const path = join(tempFolder(t), 'g.db');
  createDatabase(path);
  const database = openDatabase(path, { patient: true, create: true });
  t.after(() => database.close());
  const clock = { now: START };
  const now = (): number => clock.now;
  return {
    clock,
    database,
    units: prepareUnits(database, now),
    prepareProcess: () => prepareUnits(database, now),
    rates: prepareRates(database, now),
    places: preparePlaces(database, now),
    rows: (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']),
  };
}
