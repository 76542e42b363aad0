import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { takeCells, type RateAsk, type RateState } from '../../../src/stores/gcra.ts';

const START = 1_763_000_000_000;

const aRate = fc.record({
  limit: fc.integer({ min: 1, max: 5_000 }),
  perMs: fc.constantFrom(1, 7, 1_000, 60_000),
  burst: fc.integer({ min: 1, max: 50 }),
});
const visits = fc.array(fc.record({ afterMs: fc.nat(2_000), want: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 200,
});

test('it agrees with GCRA in whole numbers, however long it runs', () => {
  fc.assert(
    fc.property(aRate, visits, ({ limit, perMs, burst }, steps) => {
      const intervalMs = perMs / limit;
      let state: RateState | undefined;
      let now = START;
      let arrival = 0n;
      for (const { afterMs, want } of steps) {
        now += afterMs;
        const at = BigInt(now) * BigInt(limit);
        const from = arrival > at ? arrival : at;
        const free = (at + BigInt(burst * perMs) - from) / BigInt(perMs);
        const step = takeCells(state, { intervalMs, burst, want, now });
        const taken = free < BigInt(want) ? free : BigInt(want);
        assert.equal(step.taken, Number(taken));
        assert.equal(step.remaining, Number(free - taken));
        arrival = from + taken * BigInt(perMs);
        if (step.changed) state = step.state;
      }
    }),
    { numRuns: 200 },
  );
});

test('whoever comes back exactly when told is served, and a millisecond earlier is not', () => {
  fc.assert(
    fc.property(aRate, fc.nat(5_000), ({ limit, perMs, burst }, offset) => {
      const intervalMs = perMs / limit;
      const now = START + offset;
      const first = takeCells(undefined, { intervalMs, burst, want: burst, now });
      assert.equal(first.taken, burst);
      const ask = { intervalMs, burst, want: 1 };
      const refused = takeCells(first.state, { ...ask, now });
      assert.equal(refused.taken, 0);
      assert.equal(takeCells(first.state, { ...ask, now: now + refused.retryInMs }).taken, 1);
      assert.equal(takeCells(first.state, { ...ask, now: now + refused.retryInMs - 1 }).taken, 0);
    }),
  );
});

test('a rate that is edited tells nobody to come back earlier than the part of a millisecond at which it is free', () => {
  const state = { base: START, cells: 1, intervalMs: 10.5 };
  const ask = { intervalMs: 10, burst: 1, want: 1 };
  const refused = takeCells(state, { ...ask, now: START + 5 });
  assert.deepEqual([refused.taken, refused.retryInMs], [0, 6]);
  assert.equal(takeCells(state, { ...ask, now: START + 10 }).taken, 0);
  assert.equal(takeCells(state, { ...ask, now: START + 11 }).taken, 1);
});

test('cells come free by the product, by which callers are told when, where the quotient rounds the other way', () => {
  const burst = 1_000_000;
  for (const limit of [7, 15, 29, 30]) {
    const intervalMs = 1000 / limit;
    const state = { base: START, cells: burst, intervalMs };
    let free = 0;
    for (let elapsed = 0; elapsed <= 20_000; elapsed += 1) {
      while ((free + 1) * intervalMs <= elapsed) free += 1;
      const { taken } = takeCells(state, { intervalMs, burst, want: burst, now: START + elapsed });
      assert.equal(taken, free, `${elapsed} ms at ${limit} a second`);
    }
  }
});

const cuts: readonly { name: string; before: Omit<RateAsk, 'want'>; after: Omit<RateAsk, 'want'> }[] = [
  {
    name: 'a clock that goes back an hour',
    before: { intervalMs: 100, burst: 3, now: START + 3_600_000 },
    after: { intervalMs: 100, burst: 3, now: START },
  },
  {
    name: 'a burst that is lowered',
    before: { intervalMs: 100, burst: 100, now: START },
    after: { intervalMs: 100, burst: 2, now: START },
  },
  {
    name: 'a limit that is raised',
    before: { intervalMs: 360_000, burst: 10, now: START },
    after: { intervalMs: 100, burst: 10, now: START },
  },
];
for (const { name, before, after } of cuts) {
  test(`${name} delays nobody longer than one interval`, () => {
    const full = takeCells(undefined, { ...before, want: before.burst });
    const refused = takeCells(full.state, { ...after, want: 1 });
    assert.deepEqual([refused.taken, refused.retryInMs, refused.changed], [0, 100, true]);
    const again = takeCells(refused.state, { ...after, want: 1, now: after.now + 99 });
    assert.deepEqual([again.taken, again.retryInMs, again.changed], [0, 1, false]);
    assert.equal(takeCells(refused.state, { ...after, want: 1, now: after.now + 100 }).taken, 1);
  });
}
