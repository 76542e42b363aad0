import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { takeCells } from '../../../src/stores/gcra.ts';
import type { RateState } from '../../../src/stores/gcra.ts';

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
      let now = 1_763_000_000_000;
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
        if (step.taken > 0) state = step.state;
      }
    }),
    { numRuns: 200 },
  );
});

test('whoever comes back exactly when told is served, and a millisecond earlier is not', () => {
  fc.assert(
    fc.property(aRate, fc.nat(5_000), ({ limit, perMs, burst }, offset) => {
      const intervalMs = perMs / limit;
      const now = 1_763_000_000_000 + offset;
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

test('a clock that goes back an hour delays nobody longer than one interval', () => {
  const now = 1_763_000_000_000;
  const ask = { intervalMs: 100, burst: 3, want: 3 };
  const { state } = takeCells(undefined, { ...ask, now });
  const step = takeCells(state, { ...ask, now: now - 3_600_000 });
  assert.equal(step.taken, 0);
  assert.equal(step.retryInMs, 100);
});

test('a burst that is lowered does not make a debt', () => {
  const now = 1_763_000_000_000;
  const { state } = takeCells(undefined, { intervalMs: 100, burst: 100, want: 100, now });
  assert.equal(takeCells(state, { intervalMs: 100, burst: 2, want: 1, now }).retryInMs, 100);
});
