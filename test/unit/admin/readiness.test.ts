import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReadiness } from '../../../src/admin/readiness.ts';
import { parseStoreAddress } from '../../../src/config/parse-store-address.ts';
import { openStore } from '../../../src/stores/open-store.ts';
import { until } from '../../helpers/poll.ts';
import { startRedisServer } from '../../helpers/redis-server.ts';

/** Something that is looked at, and answers each attempt when the test says so. */
function createTarget() {
  const attempts: PromiseWithResolvers<void>[] = [];
  return {
    attempts,
    attempt: (): Promise<void> => {
      attempts.push(Promise.withResolvers());
      return attempts.at(-1)!.promise;
    },
  };
}

const works = async (): Promise<void> => undefined;
const unasked = () => [];
const fails = async (): Promise<void> => {
  throw new Error('no connection');
};

test('what takes long keeps nobody waiting: it counts as it last turned out', async () => {
  const slow = createTarget();
  const upstreams = [
    { name: 'near', probe: works, health: unasked },
    { name: 'slow', probe: slow.attempt, health: unasked },
  ];
  const readiness = createReadiness({ probe: works }, () => upstreams);
  const unknown = {
    ready: true,
    readyWithoutStore: true,
    reasons: ['no target of upstream slow has been reached yet'],
  };
  // It has not answered yet, and would never: who waited for it would wait for ever.
  assert.deepEqual(await readiness.check(), unknown);

  const failed = {
    ready: true,
    readyWithoutStore: true,
    reasons: ['no target of upstream slow can be reached: no connection'],
  };
  slow.attempts[0]?.reject(new Error('no connection'));
  await until(async () => (await readiness.check()).reasons[0] !== unknown.reasons[0]);
  assert.deepEqual(await readiness.check(), failed);
  await until(async () => (await readiness.check()) && slow.attempts.length === 2);
  assert.deepEqual(await readiness.check(), failed);

  slow.attempts[1]?.resolve();
  await until(async () => (await readiness.check()).reasons.length === 0);
  await until(async () => (await readiness.check()) && slow.attempts.length === 3);
  assert.deepEqual(await readiness.check(), { ready: true, readyWithoutStore: true, reasons: [] });
});

test('probes that come within a second are answered by one look', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let looks = 0;
  const near = { name: 'near', probe: works, health: unasked };
  const readiness = createReadiness({ probe: async () => void (looks += 1) }, () => [near]);
  for (const [at, looksThen] of [
    [5000, 1],
    [6000, 1],
    [6001, 2],
  ] as const) {
    now = at;
    await readiness.check();
    assert.equal(looks, looksThen);
  }
});

test('what has not come to anything yet is not begun again', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const silent = createTarget();
  const readiness = createReadiness({ probe: silent.attempt }, () => []);
  for (now of [0, 1001]) {
    const checked = readiness.check();
    t.mock.timers.tick(300);
    await checked;
    assert.equal(silent.attempts.length, 1);
  }
});

test('a store that has never answered is no ground to send traffic', async () => {
  const near = { name: 'near', probe: works, health: unasked };
  const readiness = createReadiness({ probe: createTarget().attempt }, () => [near]);
  const verdict = { ready: false, readyWithoutStore: true, reasons: ['the store has not answered yet'] };
  assert.deepEqual(await readiness.check(), verdict);
});

test('why the store does not answer is told, without its password', async (t) => {
  const redis = await startRedisServer(t, { args: ['--requirepass', 'right'] });
  const near = { name: 'near', probe: works, health: unasked };
  const address = parseStoreAddress(redis.url.replace('//', '//:swordfish@'));
  const store = await openStore(address);
  t.after(() => store.close());
  const readiness = createReadiness(store, () => [near]);
  const why = 'Redis is not connected: Redis does not accept the user or password';
  assert.deepEqual((await readiness.check()).reasons, [`the store does not answer: ${why}`]);
});

test('without its store a gateway is as ready as its upstreams and its drain leave it', async () => {
  const away = 'the store does not answer';
  const far = createReadiness({ probe: fails }, () => [{ name: 'far', probe: fails, health: unasked }]);
  const reasons = [away, 'no target of upstream far can be reached: no connection'];
  assert.deepEqual(await far.check(), { ready: false, readyWithoutStore: false, reasons });
  const near = createReadiness({ probe: fails }, () => [{ name: 'near', probe: works, health: unasked }]);
  assert.deepEqual(await near.check(), { ready: false, readyWithoutStore: true, reasons: [away] });
  near.drain();
  const verdict = { ready: false, readyWithoutStore: false, reasons: ['the gateway is stopping'] };
  assert.deepEqual(await near.check(), verdict);
});

test('targets that are not healthy are told of, and as requests go there all the same the gateway stays ready', async () => {
  const target = 'http://127.0.0.1:1';
  const health = [{ target, fault: new Error('it answered 404 to a health check') }];
  const ill = { name: 'ill', probe: works, health: () => health };
  const well = { name: 'well', probe: works, health: () => [{ target, fault: undefined }] };
  const readiness = createReadiness({ probe: works }, () => [ill, well]);
  const reasons = [`target ${target} of upstream ill is not healthy: it answered 404 to a health check`];
  assert.deepEqual(await readiness.check(), { ready: true, readyWithoutStore: true, reasons });
});
