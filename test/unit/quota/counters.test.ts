import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countersBefore } from '../../../src/quota/counters.ts';
import { aPlan, aQuota } from '../../helpers/a-plan.ts';

const hour = 3_600_000;
const december = Date.UTC(2026, 11, 1);

test('the periods before the current ones are named for as long as the store keeps them', () => {
  const plan = aPlan({
    quotas: [aQuota(9, 'month'), aQuota(8, 'lifetime'), aQuota(7, 'day'), aQuota(6, 'minute')],
  });
  const namesAt = (at: number) => countersBefore(plan, at).map(({ name }) => name);
  assert.deepEqual(countersBefore(plan, december), [
    { name: 'month', limit: 9, periodStart: Date.UTC(2026, 10, 1), periodEnd: december },
    { name: 'day', limit: 7, periodStart: Date.UTC(2026, 10, 30), periodEnd: december },
    { name: 'minute', limit: 6, periodStart: december - 60_000, periodEnd: december },
  ]);
  assert.deepEqual(namesAt(december + 24 * hour - 1), ['month', 'day', 'minute']);
  assert.deepEqual(namesAt(december + 24 * hour), ['day', 'minute']);
});
