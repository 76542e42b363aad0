import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { Route } from '../../../src/config/config.ts';
import type { PlanRule } from '../../../src/config/plan-rule.ts';
import { Quotas } from '../../../src/quota/quotas.ts';
import { admit } from '../../../src/stages/admit.ts';
import type { Caller } from '../../../src/stages/authenticate.ts';
import { aPlan, aQuota } from '../../helpers/a-plan.ts';
import { createLedgerScene } from '../../helpers/ledger-scene.ts';

/** Callers of one plan, with the store and the clock that they have, and what is counted of them. */
function openGate(plan: PlanRule) {
  const scene = createLedgerScene();
  const outcomes: string[] = [];
  const by = {
    plans: new Map([['free', plan]]),
    quotas: new Quotas(scene.options),
    count: (_plan: string, outcome: string) => void outcomes.push(outcome),
    warn: () => undefined,
  };
  const caller = { keyId: 'ada', plan: 'free', quotas: [] } as unknown as Caller;
  const ask = (cost: number, hasLeft = false) => {
    const res = Object.assign(new EventEmitter(), { destroyed: hasLeft });
    const order = { caller, route: { cost } as Route };
    const grant = Promise.resolve(admit(res as unknown as ServerResponse, order, by));
    const leave = (): void => {
      res.destroyed = true;
      res.emit('close');
    };
    return { res, grant, leave };
  };
  return { ...scene, outcomes, ask };
}

test('a client that left while a limit was asked counts once, and spends no place', async () => {
  const { clock, weather, outcomes, ask } = openGate(
    aPlan({ rate: { limit: 10, perMs: 1000, burst: 10 }, concurrency: { limit: 1, shared: false } }),
  );
  weather.takesMs = 100;
  const left = ask(1);
  left.leave();
  await Promise.all([assert.rejects(left.grant, { code: 'client_gone' }), clock.pass(200)]);
  const next = ask(1);
  await clock.pass(200);
  await next.grant;
  assert.deepEqual(outcomes, ['client_gone', 'granted']);
});

const ways: readonly { title: string; weather: object; outcome: string; leaves?: 'before' | 'meanwhile' }[] =
  [
    { title: 'is let in', weather: { takesMs: 100 }, outcome: 'granted' },
    { title: 'has nothing left', weather: { takesMs: 100 }, outcome: 'quota_exhausted' },
    { title: 'finds no store', weather: { refuses: true }, outcome: 'quota_unavailable' },
    { title: 'waits for a store that is silent', weather: { takesMs: 10_000 }, outcome: 'quota_unavailable' },
    { title: 'leaves', weather: { takesMs: 100 }, outcome: 'client_gone', leaves: 'meanwhile' },
    { title: 'had left before', weather: {}, outcome: 'client_gone', leaves: 'before' },
  ];

for (const { title, weather, outcome, leaves } of ways) {
  test(`nobody listens for the leaving of a client any more that ${title}`, async () => {
    const limit = outcome === 'quota_exhausted' ? 1 : 9;
    const { clock, weather: present, outcomes, ask } = openGate(aPlan({ quotas: [aQuota(limit)] }));
    Object.assign(present, weather);
    const { res, grant, leave } = ask(2, leaves === 'before');
    assert.equal(res.listenerCount('close'), leaves === 'before' ? 0 : 1);
    if (leaves === 'meanwhile') leave();
    await Promise.all([grant.catch(() => undefined), clock.pass(1000)]);
    assert.equal(res.listenerCount('close'), 0);
    assert.deepEqual(outcomes, [outcome]);
  });
}
