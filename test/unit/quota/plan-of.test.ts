import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanRule } from '../../../src/config/plan-rule.ts';
import { planOf } from '../../../src/quota/plan-of.ts';
import type { OwnQuota } from '../../../src/stores/key-store.ts';
import { aPeriod, aPlan } from '../../helpers/a-plan.ts';

const monthly = aPeriod('month', 'Europe/Berlin', { anchorDay: 15, anchorMinute: 360 });
const free = aPlan({
  quotas: [
    { name: 'monthly', limit: 1000, period: monthly, warnAt: 80 },
    { name: 'daily', limit: 100, period: { ...monthly, per: 'day' }, warnAt: undefined },
  ],
});
const plans = new Map([['free', free]]);
const own = (over: Partial<OwnQuota> = {}): OwnQuota => ({
  name: 'monthly',
  limit: 5,
  per: undefined,
  timezone: undefined,
  ...over,
});
const start = { anchorMonth: 1, anchorDay: 1, anchorMinute: 0 };

test('a key without quotas of its own has the very plan', () => {
  assert.equal(planOf({ plan: 'free', quotas: [] }, plans), free);
  assert.equal(planOf({ plan: 'gone', quotas: [own()] }, plans), undefined);
});

const cases: readonly { name: string; quotas: readonly OwnQuota[]; becomes: PlanRule['quotas'] }[] = [
  {
    name: 'without a period takes the limit alone',
    quotas: [own()],
    becomes: free.quotas.with(0, { name: 'monthly', limit: 5, period: monthly, warnAt: 80 }),
  },
  {
    name: 'with a period takes the place of the one of that name',
    quotas: [own({ per: 'week' })],
    becomes: free.quotas.with(0, {
      name: 'monthly',
      limit: 5,
      period: { per: 'week', timezone: 'UTC', ...start },
      warnAt: 80,
    }),
  },
  {
    name: 'of another name joins the others',
    quotas: [own({ name: 'trial', per: 'day', timezone: 'Asia/Tokyo' })],
    becomes: [
      ...free.quotas,
      {
        name: 'trial',
        limit: 5,
        period: { per: 'day', timezone: 'Asia/Tokyo', ...start },
        warnAt: undefined,
      },
    ],
  },
  {
    name: 'that the plan has lost is for a lifetime',
    quotas: [own({ name: 'lost' })],
    becomes: [
      ...free.quotas,
      { name: 'lost', limit: 5, period: { per: 'lifetime', timezone: 'UTC', ...start }, warnAt: undefined },
    ],
  },
];
for (const { name, quotas, becomes } of cases) {
  test(`a quota of a key ${name}`, () => {
    assert.deepEqual(planOf({ plan: 'free', quotas }, plans), { ...free, quotas: becomes });
  });
}

test('equal keys get the same object, so that a record that is read again costs no lease', () => {
  const first = planOf({ plan: 'free', quotas: [own()] }, plans);
  assert.equal(planOf({ plan: 'free', quotas: [own()] }, plans), first);
  assert.notEqual(planOf({ plan: 'free', quotas: [own({ limit: 6 })] }, plans), first);
});
