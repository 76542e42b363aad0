import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { Route } from '../../../src/config/config.ts';
import { Quotas } from '../../../src/quota/quotas.ts';
import { admit } from '../../../src/stages/admit.ts';
import type { Caller } from '../../../src/stages/authenticate.ts';
import { aPlan, aQuota, createQuotaScene } from '../../helpers/lease-scene.ts';

test('a client that left while a limit was asked counts once, and spends no place', async () => {
  const { options, clock, weather } = createQuotaScene();
  weather.takesMs = 100;
  const plan = aPlan({
    rate: { limit: 10, perMs: 1000, burst: 10 },
    concurrency: { limit: 1, shared: false },
  });
  const quotas = new Quotas(options);
  const outcomes: string[] = [];
  const by = {
    plans: new Map([['free', plan]]),
    quotas,
    count: (_plan: string, outcome: string) => void outcomes.push(outcome),
    warn: () => assert.fail(),
  };
  const ask = () => {
    const res = Object.assign(new EventEmitter(), { destroyed: false });
    const caller = { keyId: 'ada', plan: 'free', quotas: [] } as unknown as Caller;
    const route = { cost: 1 } as Route;
    return { res, grant: admit(res as unknown as ServerResponse, { caller, route }, by) };
  };
  const left = ask();
  left.res.destroyed = true;
  left.res.emit('close');
  await Promise.all([
    assert.rejects(left.grant as Promise<unknown>, { code: 'client_gone' }),
    clock.pass(200),
  ]);
  const next = ask();
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
    const scene = createQuotaScene();
    Object.assign(scene.weather, weather);
    const outcomes: string[] = [];
    const by = {
      plans: new Map([['free', aPlan({ quotas: [aQuota(outcome === 'quota_exhausted' ? 1 : 9)] })]]),
      quotas: new Quotas(scene.options),
      count: (_plan: string, what: string) => void outcomes.push(what),
      warn: () => undefined,
    };
    const res = Object.assign(new EventEmitter(), { destroyed: leaves === 'before' });
    const caller = { keyId: 'ada', plan: 'free', quotas: [] } as unknown as Caller;
    const admitted = admit(
      res as unknown as ServerResponse,
      { caller, route: { cost: 2 } as Route },
      by,
    ) as Promise<unknown>;
    assert.equal(res.listenerCount('close'), leaves === 'before' ? 0 : 1);
    if (leaves === 'meanwhile') {
      res.destroyed = true;
      res.emit('close');
    }
    await Promise.all([admitted.catch(() => undefined), scene.clock.pass(1000)]);
    assert.equal(res.listenerCount('close'), 0);
    assert.deepEqual(outcomes, [outcome]);
  });
}
