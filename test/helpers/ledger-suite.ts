import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { endOfTime, type Counter, type DrawAnswer } from '../../src/stores/ledger.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { startDrawers } from './drawers.ts';
import { aCounter, aDraw, HOUR, someUnits, usedOf } from './ledger-orders.ts';
import { openPatiently } from './open-patiently.ts';
import { until } from './poll.ts';
import type { StoreKind } from './store-kinds.ts';

/** By how much they begin and end after now. */
const periodsElsewhere = [
  { name: 'has ended', periodStart: -2 * HOUR, periodEnd: -HOUR },
  { name: 'has not begun', periodStart: HOUR, periodEnd: 2 * HOUR },
];
const LIFETIME = { periodStart: 0, periodEnd: endOfTime };

/** The rules of ledger.ts, held against one kind of store. */
export function testLedger(kind: StoreKind): void {
  describe(`the ledger in ${kind.name}`, () => {
    describe('draws', () => drawRules(kind));
    describe('cancelling', () => cancelRules(kind));
    describe('giving back and charging', () => unitsRules(kind));
    describe('usage', () => usageRules(kind));
    describe('rates', () => rateRules(kind));
    describe('places', () => placeRules(kind));
    describe('several processes', () => processRules(kind));
  });
}

function drawRules(kind: StoreKind): void {
  test('a draw gives what is wanted, then what is left, then nothing', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const answers = [];
    for (const want of [6, 6, 6]) answers.push(told(await ledger.draw(aDraw({ counters, want }))));
    assert.deepEqual(answers, ['drawn 6, used [6]', 'drawn 4, used [10]', 'exhausted, used [10]']);
  });

  test('a draw that needs more than is left takes nothing', async (t) => {
    const { ledger, counters } = await open(t, kind, 3);
    const answer = await ledger.draw(aDraw({ counters, need: 4, want: 9 }));
    assert.equal(told(answer), 'exhausted, used [0]');
    assert.equal(await usedOf(ledger, counters), '0');
  });

  test('a draw that took nothing is judged again when it is repeated', async (t) => {
    const { ledger, counters } = await open(t, kind, 3);
    await ledger.draw(aDraw({ counters, want: 3 }));
    const again = aDraw({ counters });
    assert.equal((await ledger.draw(again)).kind, 'exhausted');
    await ledger.giveBack(someUnits({ counters, units: 1 }));
    assert.equal((await ledger.draw(again)).kind, 'drawn');
  });

  test('a draw takes the same from every counter or nothing from any', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = [
      aCounter({ name: 'hourly', limit: 100 }),
      aCounter({ name: 'total', limit: 5, ...LIFETIME }),
      aCounter({ name: 'daily', limit: 7 }),
    ];
    assert.equal(told(await ledger.draw(aDraw({ counters, want: 50 }))), 'drawn 5, used [5,5,5]');
    assert.equal(told(await ledger.draw(aDraw({ counters, need: 3, want: 3 }))), 'exhausted, used [5,5,5]');
    assert.equal(await usedOf(ledger, counters), '5 5 5');
  });

  test('a draw without counters gives what is wanted, and nothing is used of none', async (t) => {
    const { ledger } = await open(t, kind);
    assert.equal(told(await ledger.draw(aDraw({ counters: [], want: 3 }))), 'drawn 3, used []');
    assert.deepEqual(await ledger.readUsage('key', []), []);
  });

  test('a repeated draw answers what it answered first and takes nothing more', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = [aCounter({ limit: 10 }), aCounter({ name: 'other', limit: 50 })];
    const order = aDraw({ counters, want: 4 });
    const first = await ledger.draw(order);
    await ledger.draw(aDraw({ counters, want: 2 }));
    assert.deepEqual(await ledger.draw(order), first);
    assert.equal(await usedOf(ledger, counters), '6 6');
    await ledger.draw(aDraw({ counters, want: 4 }));
    assert.deepEqual(await ledger.draw(order), first, 'also when nothing is left');
  });

  test('the same id of another key is another step', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const step = { id: 'same.1', openFrom: 1, counters };
    const [a, b] = [aDraw({ ...step, keyId: 'a' }), aDraw({ ...step, keyId: 'b', want: 2 })];
    await ledger.draw(a);
    assert.equal((await ledger.draw(b)).kind, 'drawn');
    await ledger.cancelDraw(a);
    assert.equal(told(await ledger.draw(b)), 'drawn 2, used [2]');
    assert.deepEqual([await usedOf(ledger, counters, 'a'), await usedOf(ledger, counters, 'b')], ['0', '2']);
  });

  for (const { name, periodStart, periodEnd } of periodsElsewhere) {
    test(`a draw for a period that ${name} is answered not_current and takes nothing`, async (t) => {
      const { ledger } = await open(t, kind);
      const now = Date.now();
      const other = aCounter({ name: 'fine', limit: 5 });
      const ill = aCounter({ limit: 5, periodStart: now + periodStart, periodEnd: now + periodEnd });
      for (const counters of [
        [other, ill],
        [ill, other],
      ]) {
        const answer = await ledger.draw(aDraw({ counters }));
        assert.equal(answer.kind, 'not_current');
        assert.ok(Math.abs(answer.now - now) < 5_000);
        assert.equal(await usedOf(ledger, counters), '0 0');
      }
    });
  }

  test('a limit that is lowered below the usage denies at once, and one that is raised keeps the usage', async (t) => {
    const { ledger } = await open(t, kind);
    await ledger.draw(aDraw({ counters: [aCounter({ limit: 10 })], want: 8 }));
    assert.equal(
      told(await ledger.draw(aDraw({ counters: [aCounter({ limit: 5 })] }))),
      'exhausted, used [8]',
    );
    assert.equal(
      told(await ledger.draw(aDraw({ counters: [aCounter({ limit: 12 })], want: 9 }))),
      'drawn 4, used [12]',
    );
  });

  test('limits up to 2^53 - 1 are counted exactly', async (t) => {
    const { ledger, counters } = await open(t, kind, Number.MAX_SAFE_INTEGER);
    const big = 1_000_000_000_000_001;
    assert.equal(told(await ledger.draw(aDraw({ counters, want: big }))), `drawn ${big}, used [${big}]`);
    const rest = Number.MAX_SAFE_INTEGER - big;
    assert.equal(
      told(await ledger.draw(aDraw({ counters, want: Number.MAX_SAFE_INTEGER }))),
      `drawn ${rest}, used [${Number.MAX_SAFE_INTEGER}]`,
    );
    assert.equal(
      told(await ledger.draw(aDraw({ counters }))),
      `exhausted, used [${Number.MAX_SAFE_INTEGER}]`,
    );
    assert.deepEqual(await ledger.readUsage('key', counters), [
      { used: Number.MAX_SAFE_INTEGER, leased: rest },
    ]);
    const longer = counters.map((counter) => ({ ...counter, periodEnd: endOfTime }));
    for (const charged of [counters, longer]) {
      await ledger.charge(someUnits({ counters: charged, units: 5 }));
      assert.equal(await usedOf(ledger, counters), String(Number.MAX_SAFE_INTEGER));
    }
  });

  test('numbers that cannot be counted exactly are refused before they reach the store', async (t) => {
    const { ledger } = await open(t, kind);
    for (const want of [0.5, -1, Number.NaN, 2 ** 53]) {
      await assert.rejects(ledger.draw(aDraw({ counters: [aCounter({})], need: 0, want })), RangeError);
    }
  });

  test('sixty-four draws at once take exactly the limit', async (t) => {
    const { ledger, counters } = await open(t, kind, 50);
    const answers = await Promise.all(Array.from({ length: 64 }, () => ledger.draw(aDraw({ counters }))));
    assert.equal(answers.filter((answer) => answer.kind === 'drawn').length, 50);
    assert.equal(await usedOf(ledger, counters), '50');
  });
}

function cancelRules(kind: StoreKind): void {
  test('cancelling a draw that ran gives its units back, once', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = [aCounter({ limit: 10 }), aCounter({ name: 'other', limit: 10 })];
    await ledger.draw(aDraw({ counters, want: 3, holder: 'b' }));
    const order = aDraw({ counters, want: 4 });
    await ledger.draw(order);
    await ledger.cancelDraw(order);
    await ledger.cancelDraw(order);
    assert.deepEqual(await ledger.readUsage('key', counters), [
      { used: 3, leased: 3 },
      { used: 3, leased: 3 },
    ]);
    // As long as less is used than is told to be held, no more than that is shown.
    await ledger.charge(someUnits({ counters: counters.slice(1), units: 10, holder: 'c' }));
    assert.deepEqual(await ledger.readUsage('key', counters), [
      { used: 3, leased: 3 },
      { used: 13, leased: 3 },
    ]);
  });

  test('cancelling a draw leaves what its process held before', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = [aCounter({ limit: 100 }), aCounter({ name: 'other', limit: 100 })];
    await ledger.draw(aDraw({ counters, want: 30 }));
    const order = aDraw({ counters, want: 4, held: 30 });
    await ledger.draw(order);
    await ledger.cancelDraw(order);
    // More is used than is held: otherwise no more than what is used would be shown.
    await ledger.charge(someUnits({ counters, units: 10, holder: 'c' }));
    assert.deepEqual(await ledger.readUsage('key', counters), [
      { used: 40, leased: 30 },
      { used: 40, leased: 30 },
    ]);
  });

  test('what has been spent of a draw that is cancelled is not taken from what others hold', async (t) => {
    const { ledger, counters } = await open(t, kind);
    await ledger.draw(aDraw({ counters, want: 3, holder: 'b' }));
    for (const held of [1, 0]) {
      const order = aDraw({ counters, want: 4 });
      await ledger.draw(order);
      await ledger.charge(someUnits({ counters, units: 0, held }));
      await ledger.cancelDraw(order);
      assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 3, leased: 3 }]);
    }
  });

  test('a draw whose units are spent, cancelled after usage was set, leaves no less than nothing used', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const order = aDraw({ counters, want: 4, held: -4 });
    await ledger.draw(order);
    await ledger.setUsage({ keyId: 'key', counters, spent: 0 });
    const nothing = [{ used: 0, leased: 0 }];
    assert.deepEqual(await ledger.readUsage('key', counters), nothing);
    await ledger.cancelDraw(order);
    assert.deepEqual(await ledger.readUsage('key', counters), nothing);
    const answer = await ledger.draw(aDraw({ counters, want: 20 }));
    assert.equal(answer.kind === 'drawn' && answer.units, 10);
  });

  test('a draw that is cancelled before it runs never runs', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const order = aDraw({ counters, want: 4 });
    await ledger.cancelDraw(order);
    await assert.rejects(
      ledger.draw(order),
      (error) => error instanceof StoreUnavailable && !error.mayHaveHappened,
    );
    await ledger.cancelDraw(order);
    assert.equal(await usedOf(ledger, counters), '0');
  });

  test('a draw that is cancelled after it ran cannot be repeated, and others of its key can', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const [order, other] = [aDraw({ counters, want: 4 }), aDraw({ counters, want: 2 })];
    await ledger.draw(order);
    const answer = await ledger.draw(other);
    await ledger.cancelDraw(order);
    await assert.rejects(ledger.draw(order), StoreUnavailable);
    assert.deepEqual(await ledger.draw(other), answer);
    assert.equal(await usedOf(ledger, counters), '2');
  });

  test('cancelling something that was no draw changes nothing', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const charge = someUnits({ counters, units: 4 });
    await ledger.charge(charge);
    await ledger.cancelDraw(charge);
    await ledger.charge(charge);
    assert.equal(await usedOf(ledger, counters), '4');
  });
}

function unitsRules(kind: StoreKind): void {
  test('units given back can be drawn again, and a repeat gives nothing back', async (t) => {
    const { ledger, counters } = await open(t, kind);
    await ledger.draw(aDraw({ counters, want: 10 }));
    const order = someUnits({ counters, units: 4 });
    await ledger.giveBack(order);
    await ledger.giveBack(order);
    assert.equal(told(await ledger.draw(aDraw({ counters, want: 9 }))), 'drawn 4, used [10]');
  });

  test('giving back never goes below zero', async (t) => {
    const { ledger, counters } = await open(t, kind);
    await ledger.draw(aDraw({ counters, want: 2 }));
    await ledger.giveBack(someUnits({ counters, units: 5 }));
    assert.equal(await usedOf(ledger, counters), '0');
    assert.equal(told(await ledger.draw(aDraw({ counters, want: 50 }))), 'drawn 10, used [10]');
  });

  test('units go back only to the period that they came from', async (t) => {
    const { ledger } = await open(t, kind);
    const now = Date.now();
    const before = [aCounter({ limit: 10, periodStart: now - 3 * HOUR, periodEnd: now - 2 * HOUR })];
    const current = [aCounter({ limit: 10, periodStart: now - 2 * HOUR, periodEnd: now + HOUR })];
    await ledger.charge(someUnits({ counters: before, units: 6 }));
    await ledger.draw(aDraw({ counters: current, want: 7 }));
    await ledger.giveBack(someUnits({ counters: before, units: 4 }));
    assert.equal(await usedOf(ledger, before), '2');
    assert.equal(await usedOf(ledger, current), '7');
  });

  test('a period that has ended long ago takes nothing', async (t) => {
    const { ledger } = await open(t, kind);
    const now = Date.now();
    const counters = [aCounter({ limit: 10, periodStart: now - 72 * HOUR, periodEnd: now - 48 * HOUR })];
    await ledger.giveBack(someUnits({ counters, units: 4 }));
    assert.equal(await usedOf(ledger, counters), '0');
  });

  test('what is counted or given back of a shorter period does not shorten the life of what a longer one used', async (t) => {
    const { ledger } = await open(t, kind);
    const periodStart = Date.now() - HOUR;
    const long = [aCounter({ periodStart, periodEnd: periodStart + 2 * HOUR })];
    // The usage of a second is kept for a minute, so that of this one would be gone by now.
    const short = [aCounter({ periodStart, periodEnd: periodStart + 1_000 })];
    await ledger.charge(someUnits({ counters: long, units: 7 }));
    await ledger.charge(someUnits({ counters: short, units: 2 }));
    await ledger.giveBack(someUnits({ counters: short, units: 1 }));
    // What is old goes every so many steps.
    for (let step = 0; step < 20; step += 1) await ledger.draw(aDraw({ counters: [], keyId: 'other' }));
    assert.equal(await usedOf(ledger, long), '8');
  });

  test('what a longer period counts lengthens the life of what a shorter one used', async (t) => {
    const { ledger } = await open(t, kind);
    // The usage of a second is kept for a minute, so that of this one would be gone in half a second.
    const goneAt = Date.now() + 500;
    const periodStart = goneAt - 61_000;
    const short = [aCounter({ periodStart, periodEnd: periodStart + 1_000 })];
    const long = [aCounter({ periodStart, periodEnd: periodStart + 2 * HOUR })];
    await ledger.charge(someUnits({ counters: short, units: 2 }));
    await ledger.charge(someUnits({ counters: long, units: 7 }));
    const used = await usedOf(ledger, long);
    await until(() => Date.now() > goneAt);
    for (let step = 0; step < 20; step += 1) await ledger.draw(aDraw({ counters: [], keyId: 'other' }));
    assert.equal(await usedOf(ledger, long), used);
  });

  test('a charge counts whatever the limit says, once', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const order = someUnits({ counters, units: 15 });
    await ledger.charge(order);
    await ledger.charge(order);
    assert.equal(told(await ledger.draw(aDraw({ counters }))), 'exhausted, used [15]');
  });
}

function usageRules(kind: StoreKind): void {
  test('the time that is told is the one that draws go by', async (t) => {
    const { ledger } = await open(t, kind);
    const before = await ledger.readTime('key');
    const { now } = await ledger.draw(aDraw({ counters: [aCounter({})] }));
    assert.ok(before <= now && now <= (await ledger.readTime('key')));
  });

  test('usage tells what is used and what processes hold of it', async (t) => {
    const { ledger, counters } = await open(t, kind, 100);
    await ledger.draw(aDraw({ counters, want: 10, holder: 'a', held: 0 }));
    await ledger.draw(aDraw({ counters, want: 10, holder: 'b', held: 0 }));
    await ledger.draw(aDraw({ counters, want: 10, holder: 'b', held: 2 }));
    assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 30, leased: 22 }]);
    await ledger.giveBack(someUnits({ counters, units: 7, holder: 'b', held: 0 }));
    assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 23, leased: 10 }]);
  });

  test('what a process holds is told of each counter apart', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = ['one', 'two', 'other'].map((name) => aCounter({ name, limit: 100 }));
    await ledger.draw(aDraw({ counters, want: 10 }));
    await ledger.giveBack({ ...someUnits({ counters }), held: [0, 5, 7] });
    const usage = await ledger.readUsage('key', counters);
    assert.deepEqual(
      usage.map(({ leased }) => leased),
      [0, 5, 7],
    );
  });

  test('no more is told as held than is used, whatever is given back after usage was set', async (t) => {
    const { ledger, counters } = await open(t, kind, 100);
    await ledger.draw(aDraw({ counters, want: 10, holder: 'a' }));
    await ledger.draw(aDraw({ counters, want: 4, holder: 'b', held: -4 }));
    await ledger.setUsage({ keyId: 'key', counters, spent: 0 });
    await ledger.giveBack(someUnits({ counters, units: 4, holder: 'b' }));
    assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 6, leased: 6 }]);
  });

  test('units that requests wait for are not told as held', async (t) => {
    const { ledger, counters } = await open(t, kind, 100);
    await ledger.draw(aDraw({ counters, want: 10, held: -4 }));
    await ledger.draw(aDraw({ counters, want: 3, held: -5, holder: 'b' }));
    assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 13, leased: 6 }]);
    const all = [aCounter({ name: 'new', limit: 100 }), ...counters];
    await ledger.draw(aDraw({ counters: all, want: 1, held: -1 }));
    assert.deepEqual(await ledger.readUsage('key', all), [
      { used: 1, leased: 0 },
      { used: 14, leased: 0 },
    ]);
  });

  test('usage is set for some counters of a key alone, and set again it stays the same', async (t) => {
    const { ledger } = await open(t, kind);
    const counters = ['one', 'two', 'other'].map((name) => aCounter({ name, limit: 10 }));
    const [one, two] = counters as [Counter, Counter];
    await ledger.draw(aDraw({ counters: [one], want: 10, held: -10 }));
    await ledger.draw(aDraw({ counters: [one, two], keyId: 'next', want: 1, held: -1 }));
    for (const spent of [7, 7, 0, 7]) {
      const usage = { used: spent, leased: 0 };
      assert.deepEqual(await ledger.setUsage({ keyId: 'key', counters: [one, two], spent }), [usage, usage]);
      assert.equal(await usedOf(ledger, counters), `${spent} ${spent} 0`);
    }
    assert.equal(told(await ledger.draw(aDraw({ counters: [one], want: 9 }))), 'drawn 3, used [10]');
    assert.equal(await usedOf(ledger, counters, 'next'), '1 1 0');
  });

  test('what processes hold when usage is set is counted besides, whether it is spent, comes back or is cancelled', async (t) => {
    const { ledger, counters } = await open(t, kind, 100);
    const inDoubt = aDraw({ counters, want: 4, holder: 'c' });
    for (const holder of ['a', 'b']) await ledger.draw(aDraw({ counters, want: 10, holder }));
    await ledger.draw(inDoubt);
    const set = { keyId: 'key', counters, spent: 50 };
    assert.deepEqual(await ledger.setUsage(set), [{ used: 74, leased: 24 }]);
    await ledger.giveBack(someUnits({ counters, units: 10, holder: 'a' }));
    await ledger.giveBack(someUnits({ counters, units: 3, holder: 'b' }));
    await ledger.cancelDraw(inDoubt);
    assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 57, leased: 0 }], '7 were spent');
  });

  test('what was charged before usage is set is not charged again after it, and what is charged later is', async (t) => {
    const { ledger, counters } = await open(t, kind, 100);
    const charge = someUnits({ counters, units: 5 });
    await ledger.charge(charge);
    await ledger.setUsage({ keyId: 'key', counters, spent: 20 });
    await ledger.charge(charge);
    assert.equal(await usedOf(ledger, counters), '20');
    await ledger.charge(someUnits({ counters, units: 5 }));
    assert.equal(await usedOf(ledger, counters), '25');
  });

  test('usage is set above the limit, and then nothing is left until more is allowed', async (t) => {
    const { ledger, counters } = await open(t, kind);
    await ledger.setUsage({ keyId: 'key', counters, spent: 15 });
    assert.equal(told(await ledger.draw(aDraw({ counters }))), 'exhausted, used [15]');
    assert.equal(told(await ledger.draw(aDraw({ counters, want: 0 }))), 'drawn 0, used [15]');
    const more = counters.map((counter) => ({ ...counter, limit: 16 }));
    assert.equal(told(await ledger.draw(aDraw({ counters: more, want: 4 }))), 'drawn 1, used [16]');
  });

  test('usage is set up to 2^53 - 1, and what cannot be counted exactly is refused', async (t) => {
    const { ledger, counters } = await open(t, kind);
    const most = Number.MAX_SAFE_INTEGER;
    await ledger.draw(aDraw({ counters, want: 4 }));
    for (const spent of [most - 2, most]) {
      const usage = [{ used: most, leased: 4 }];
      assert.deepEqual(await ledger.setUsage({ keyId: 'key', counters, spent }), usage);
      assert.deepEqual(await ledger.readUsage('key', counters), usage);
    }
    for (const spent of [0.5, -1, Number.NaN, 2 ** 53])
      await assert.rejects(ledger.setUsage({ keyId: 'key', counters, spent }), RangeError);
  });

  for (const { name, periodStart, periodEnd } of periodsElsewhere) {
    test(`usage of a period that ${name} is not set, nor that of others with it`, async (t) => {
      const { ledger } = await open(t, kind);
      const now = Date.now();
      const fine = aCounter({ name: 'fine' });
      const ill = aCounter({ periodStart: now + periodStart, periodEnd: now + periodEnd });
      await ledger.charge(someUnits({ counters: [fine, ill], units: 3 }));
      for (const counters of [
        [fine, ill],
        [ill, fine],
      ]) {
        assert.equal(await ledger.setUsage({ keyId: 'key', counters, spent: 1 }), 'not_current');
        assert.equal(await usedOf(ledger, counters), '3 3');
      }
    });
  }

  test('keys with odd ids and quotas with odd names do not touch each other', async (t) => {
    const { ledger } = await open(t, kind);
    const odd = ['a', 'a}', '{a', '{}', '', ' ', 'a b', 'ключ', '🔑', 'a:q', 'a\n', "a'--", 'x'.repeat(300)];
    const names = ['n', 'n:1', '{n}', 'ñ 🔑'];
    const counters = names.map((name) => aCounter({ name, limit: 100 }));
    for (const [index, keyId] of odd.entries())
      await ledger.draw(aDraw({ keyId, counters, want: index + 1 }));
    for (const [index, keyId] of odd.entries()) {
      assert.equal(
        await usedOf(ledger, counters, keyId),
        names.map(() => index + 1).join(' '),
        JSON.stringify(keyId),
      );
    }
    for (const [index, keyId] of [...odd.entries()].toReversed())
      await ledger.giveBack(someUnits({ keyId, counters, held: index }));
    for (const [index, keyId] of odd.entries()) {
      const left = names.map(() => ({ used: index, leased: index }));
      assert.deepEqual(await ledger.readUsage(keyId, counters), left, JSON.stringify(keyId));
    }
  });
}

function rateRules(kind: StoreKind): void {
  test('whoever waits as long as told is served', async (t) => {
    const { ledger } = await open(t, kind);
    const order = { keyId: 'key', name: 'rate', intervalMs: 100 / 7, burst: 1, want: 1 };
    for (let round = 0; round < 10; round += 1) {
      const answer = await ledger.takeCells(order);
      if (answer.kind === 'taken') continue;
      assert.ok(answer.retryInMs >= 1 && answer.retryInMs <= 15);
      await until(() => Date.now() >= answer.now + answer.retryInMs);
      assert.equal((await ledger.takeCells(order)).kind, 'taken');
    }
  });

  test('a rate that is edited keeps what was taken, and keys and names are apart', async (t) => {
    const { ledger } = await open(t, kind);
    const order = { keyId: 'key', name: 'rate', intervalMs: 60_000, burst: 2, want: 2 };
    assert.equal((await ledger.takeCells(order)).kind, 'taken');
    const raised = await ledger.takeCells({ ...order, burst: 5, want: 9 });
    assert.deepEqual({ ...raised, now: 0 }, { kind: 'taken', cells: 3, remaining: 0, now: 0 });
    const slower = await ledger.takeCells({ ...order, intervalMs: 120_000, burst: 5, want: 9 });
    assert.deepEqual({ ...slower, now: 0 }, { kind: 'taken', cells: 2, remaining: 0, now: 0 });
    assert.equal((await ledger.takeCells({ ...order, name: 'other' })).kind, 'taken');
    assert.equal((await ledger.takeCells({ ...order, keyId: 'other' })).kind, 'taken');
  });

  test('fifty callers at once get exactly the burst', async (t) => {
    const { ledger } = await open(t, kind);
    const order = { keyId: 'key', name: 'rate', intervalMs: 60_000, burst: 20, want: 1 };
    const answers = await Promise.all(Array.from({ length: 50 }, () => ledger.takeCells(order)));
    assert.equal(answers.filter((answer) => answer.kind === 'taken').length, 20);
  });
}

function placeRules(kind: StoreKind): void {
  const order = { keyId: 'key', placeId: 'a', limit: 2, expiresInMs: 60_000 };

  test('a place is taken until it is left', async (t) => {
    const { ledger } = await open(t, kind);
    for (const placeId of ['a', 'b', 'a']) assert.equal(await ledger.enter({ ...order, placeId }), 'entered');
    assert.equal(await ledger.enter({ ...order, placeId: 'c' }), 'full');
    assert.equal(await ledger.enter({ ...order, keyId: 'other', placeId: 'c' }), 'entered');
    await ledger.leave('key', 'a');
    await ledger.leave('key', 'a');
    assert.equal(await ledger.enter({ ...order, placeId: 'c' }), 'entered');
    assert.equal(await ledger.enter({ ...order, placeId: 'd' }), 'full');
  });

  test('a place that nobody keeps comes free when it expires', async (t) => {
    const { ledger } = await open(t, kind);
    const started = Date.now();
    await ledger.enter({ ...order, limit: 1, expiresInMs: 60 });
    const entered = async (): Promise<boolean> =>
      (await ledger.enter({ ...order, limit: 1, placeId: 'b' })) === 'entered';
    await until(entered);
    assert.ok(Date.now() - started >= 60);
  });

  test('a place that is kept outlives its first expiry, also beside one that expires sooner', async (t) => {
    const { ledger } = await open(t, kind);
    await ledger.enter({ ...order, expiresInMs: 40 });
    await ledger.stay({ ...order, expiresInMs: 60_000 });
    await ledger.enter({ ...order, placeId: 'b', expiresInMs: 40 });
    await until(
      async () => (await ledger.enter({ ...order, placeId: 'c', expiresInMs: 60_000 })) === 'entered',
    );
    assert.equal(await ledger.enter({ ...order, placeId: 'd' }), 'full');
  });

  test('who stays for no time takes no place, and ends none', async (t) => {
    const { ledger } = await open(t, kind);
    await ledger.stay({ ...order, placeId: 'nobody', expiresInMs: 0 });
    await ledger.enter({ ...order, limit: 2 });
    await ledger.stay({ ...order, placeId: 'nobody', expiresInMs: 0 });
    assert.equal(await ledger.enter({ ...order, limit: 2, placeId: 'b' }), 'entered');
    assert.equal(await ledger.enter({ ...order, limit: 2, placeId: 'c' }), 'full');
  });

  test('a place that was lost is taken again by staying, whatever the limit: its request is still in flight', async (t) => {
    const { ledger } = await open(t, kind);
    await ledger.stay(order);
    assert.equal(await ledger.enter({ ...order, limit: 1, placeId: 'b' }), 'full');
    for (const placeId of ['c', 'd']) await ledger.stay({ ...order, placeId });
    await ledger.leave('key', 'a');
    assert.equal(await ledger.enter({ ...order, placeId: 'b' }), 'full');
  });
}

function processRules(kind: StoreKind): void {
  test('several processes, one of them killed and replaced, draw exactly the limit', async (t) => {
    const address = kind.address(t);
    const limit = 1_000;
    const counters = [aCounter({ limit })];
    const drawers = startDrawers(t, { address, counters, processes: 3, killOneAt: 100 });
    await drawers.finished();
    const store = await openPatiently(t, address);
    assert.equal(await usedOf(store.ledger, counters), String(limit));
    // The killed process may have drawn once without telling; nobody may have told more than there was.
    assert.ok(
      drawers.drawn() <= limit && drawers.drawn() >= limit - drawers.unitsPerDraw,
      String(drawers.drawn()),
    );
  });
}

/** An empty ledger, and a counter with this limit. */
async function open(t: TestContext, kind: StoreKind, limit = 10) {
  const { ledger } = await openPatiently(t, kind.address(t));
  return { ledger, counters: [aCounter({ limit })] };
}

/** An answer in words, without the clock. */
function told(answer: DrawAnswer): string {
  if (answer.kind === 'not_current') return answer.kind;
  const units = answer.kind === 'drawn' ? ` ${answer.units}` : '';
  return `${answer.kind}${units}, used [${answer.used.join()}]`;
}
