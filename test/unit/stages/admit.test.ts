import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { Route } from '../../../src/config/config.ts';
import { createQuotas } from '../../../src/quota/quotas.ts';
import { admit } from '../../../src/stages/admit.ts';
import type { Caller } from '../../../src/stages/authenticate.ts';
import { aPlan, createQuotaScene } from '../../helpers/lease-scene.ts';

test('a client that left while a limit was asked counts once, and spends no place', async () => {
  const { options, clock, weather } = createQuotaScene();
  weather.takesMs = 100;
  const plan = aPlan({
    rate: { name: 'rate', limit: 10, perMs: 1000, burst: 10 },
    concurrency: { name: 'concurrency', limit: 1, shared: false },
  });
  const quotas = createQuotas(options);
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
