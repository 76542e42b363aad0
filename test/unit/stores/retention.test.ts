import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfTime } from '../../../src/stores/ledger.ts';
import { keptUntil } from '../../../src/stores/retention.ts';
import { aCounter, HOUR } from '../../helpers/ledger-orders.ts';

test('a counter is kept for 24 more of its periods, but a minute at least and a day at most', () => {
  assert.deepEqual([1_000, 2_500, 10_000, HOUR, 2 * HOUR].map(keptMs), [
    60_000,
    60_000,
    240_000,
    24 * HOUR,
    24 * HOUR,
  ]);
  assert.equal(keptUntil(aCounter({ periodStart: 0, periodEnd: endOfTime })), endOfTime);
});

/** How much longer than its period a counter is kept. */
function keptMs(periodMs: number): number {
  const periodEnd = 10 * HOUR;
  return keptUntil(aCounter({ periodStart: periodEnd - periodMs, periodEnd })) - periodEnd;
}
