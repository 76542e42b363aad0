import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { until } from '../helpers/poll.ts';
import {
  call,
  keysOf,
  openQuotaScene,
  secretOf,
  usedBy,
  usedSettlesAt,
  type Answer,
  type QuotaScene,
} from '../helpers/quota-scene.ts';
import { durable, startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import { runCli } from '../helpers/run-cli.ts';
import { startGateway, type Gateway } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

/** The default deadline, and what a busy machine may add to it. */
const inTimeMs = 250 + 5_000;

const quotas = [{ name: 'life', limit: 10_000, per: 'lifetime' }];
const plans = {
  strict: { quotas, consistency: 'strict' },
  leased: { quotas },
  allow: { quotas, consistency: 'strict', onStoreFailure: 'allow' },
  crowded: { concurrency: { limit: 2, shared: true }, onStoreFailure: 'allow' },
  paced: { rate: { limit: 40, per: 'second' } },
  free: {},
};
const keys = [
  ...keysOf('strict', 'ada'),
  ...keysOf('leased', 'bob'),
  ...keysOf('allow', 'cyd'),
  ...keysOf('crowded', 'gus'),
  ...keysOf('paced', 'dan'),
];

interface Outage {
  readonly redis: RedisServer;
  readonly scene: QuotaScene;
  readonly gateway: Gateway;
}

async function prepare(t: TestContext): Promise<Outage> {
  const redis = await startRedisServer(t, { args: durable });
  const scene = await openQuotaScene(t, { plans, keys }, redis.url);
  return { redis, scene, gateway: await scene.start() };
}

const outages = [
  {
    name: 'a Redis that does not answer',
    begin: async (redis: RedisServer) => redis.signal('SIGSTOP'),
    end: async (redis: RedisServer) => redis.signal('SIGCONT'),
  },
  {
    name: 'a Redis that is gone',
    begin: (redis: RedisServer) => redis.stop(),
    end: (redis: RedisServer) => redis.start(),
  },
  {
    name: 'a Redis that has no memory left',
    begin: (redis: RedisServer) => redis.say('CONFIG', 'SET', 'maxmemory', 1),
    end: (redis: RedisServer) => redis.say('CONFIG', 'SET', 'maxmemory', 0),
  },
];

for (const { name, begin, end } of outages) {
  test(`${name}: requests are refused or let through in time, as their plan says, and counted later`, async (t) => {
    const { redis, scene, gateway } = await prepare(t);
    for (const key of ['ada', 'cyd', 'gus', 'dan']) assert.equal((await call(gateway, { key })).status, 200);
    await begin(redis);

    const seen = scene.upstream.requests.length;
    for (const key of ['ada', 'dan']) {
      for (let turn = 0; turn < 20; turn += 1) {
        const refused = await timed(call(gateway, { key }));
        assert.equal(refused.status, 503);
        assert.equal(refused.refusal, 'quota_unavailable');
        assert.equal(refused.headers['retry-after'], '1');
      }
    }
    assert.equal(scene.upstream.requests.length, seen, 'none of them went through');
    const crowd = await Promise.all(Array.from({ length: 50 }, () => timed(call(gateway, { key: 'ada' }))));
    assert.ok(crowd.every(({ status }) => status === 503));
    for (const key of ['cyd', 'gus']) {
      for (let turn = 0; turn < 20; turn += 1)
        assert.equal((await timed(call(gateway, { key }))).status, 200);
    }
    assert.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503);
    assert.ok(!says(gateway, 'the store answers again'), 'the outage is not over');

    await end(redis);
    await until(async () => (await call(gateway, { key: 'ada' })).status === 200);
    await usedSettlesAt(gateway, 21, 'cyd');
    await usedSettlesAt(gateway, 2, 'ada');
    await until(() => says(gateway, 'the store answers again'));
    assert.ok(says(gateway, 'the store does not answer'));
    const metrics = await gateway.metrics();
    for (const [key, plan] of [
      ['cyd', 'allow'],
      ['gus', 'crowded'],
    ]) {
      const lines = gateway.logs().filter(({ keyId, msg }) => keyId === key && msg === 'answered');
      assert.equal(lines.filter(({ owed }) => owed === true).length, 20);
      const decisions = `gatehouse_quota_decisions_total{plan="${plan}",outcome="owed"} 20\n`;
      assert.ok(metrics.includes(decisions), `of ${plan} as many are owed`);
    }
  });
}

const absences = {
  'a Redis that was gone': async (t: TestContext) => {
    const redis = await startRedisServer(t, { args: durable });
    return { url: redis.url, begin: () => redis.stop(), end: () => redis.start() };
  },
  'a SQLite file that was locked': (t: TestContext) => {
    const path = `${tempFolder(t)}/gatehouse.db`;
    const locker = (): DatabaseSync => (open ??= new DatabaseSync(path, { timeout: 5000 }));
    let open: DatabaseSync | undefined;
    t.after(() => open?.close());
    return {
      url: `sqlite:${path}`,
      begin: () => locker().exec('BEGIN IMMEDIATE'),
      end: () => locker().exec('ROLLBACK'),
    };
  },
};

for (const [name, prepareAbsence] of Object.entries(absences)) {
  test(`${name} learns soon of the shared places that were left meanwhile`, async (t) => {
    const { url, begin, end } = await prepareAbsence(t);
    const narrow = { concurrency: { limit: 2, shared: true } };
    const scene = await openQuotaScene(t, { plans: { narrow }, keys: keysOf('narrow', 'ada') }, url);
    const gateway = await scene.start();
    const release = Promise.withResolvers<void>();
    scene.upstream.handler = (_request, res) => void release.promise.then(() => res.end('ok'));
    const answers = [call(gateway), call(gateway)];
    await until(() => scene.upstream.requests.length === 2);
    await begin();
    release.resolve();
    for (const answer of answers) assert.equal((await answer).status, 200);
    await until(() => says(gateway, 'the store does not answer'));
    await end();
    // The places would expire by themselves 30 s after they were taken.
    await until(async () => (await call(gateway)).status === 200, { within: 12_000 });
  });
}

test('units that were drawn already are spent before anyone is refused', async (t) => {
  const { redis, gateway } = await prepare(t);
  const crowd = async (): Promise<readonly Answer[]> =>
    Promise.all(Array.from({ length: 40 }, () => call(gateway, { key: 'bob' })));
  for (let turn = 0; turn < 5; turn += 1) await crowd();
  redis.signal('SIGSTOP');
  const during = await crowd();
  const served = during.filter(({ status }) => status === 200).length;
  assert.ok(served > 0, 'nothing was held');
  redis.signal('SIGCONT');
  await until(async () => (await call(gateway, { key: 'bob' })).status === 200);
  await usedSettlesAt(gateway, 200 + served + 1, 'bob');
});

test('a key that was seen lately goes on when keys cannot be looked up; any other is 500, never 401', async (t) => {
  const { redis, scene, gateway } = await prepare(t);
  await putKey(scene, 'eve');
  await putKey(scene, 'fay');
  // With cacheFor 0s every request asks the store for the key.
  const asking = await scene.start({ auth: { cacheFor: '0s' } });
  for (const each of [gateway, asking]) assert.equal((await timed(call(each, { key: 'eve' }))).status, 200);
  await redis.stop();
  for (const each of [gateway, asking]) {
    assert.equal((await timed(call(each, { key: 'eve' }))).status, 200);
    for (const key of ['fay', 'nobody']) {
      const answer = await timed(call(each, { key }));
      assert.equal(answer.status, 500);
      assert.equal(answer.refusal, 'keys_unavailable');
      assert.equal(answer.text, '{"error":"Internal server error"}');
    }
  }
  await redis.start();
  await until(async () => (await call(asking, { key: 'fay' })).status === 200);
  assert.equal((await call(asking, { key: 'nobody' })).status, 401);
});

test('a gateway that starts before its Redis says so, and works as soon as it is there', async (t) => {
  const redis = await startRedisServer(t);
  await redis.stop();
  const scene = await openQuotaScene(t, { plans, keys }, redis.url);
  const gateway = await scene.start();
  assert.ok(says(gateway, 'the store does not answer'));
  const { status, reasons } = await readyz(gateway);
  assert.equal(status, 503);
  assert.deepEqual(reasons, ['the store does not answer']);
  assert.equal((await timed(call(gateway))).refusal, 'quota_unavailable');
  await redis.start();
  await until(async () => (await call(gateway)).status === 200);
  await until(async () => (await readyz(gateway)).status === 200);
  assert.equal(await usedBy(gateway), 1);
});

test('a Redis that comes back without its keys is told of once, and the gateway goes on', async (t) => {
  const redis = await startRedisServer(t);
  const scene = await openQuotaScene(t, { plans, keys }, redis.url);
  await putKey(scene, 'eve');
  const gateway = await scene.start();
  assert.equal((await call(gateway, { key: 'eve' })).status, 200);
  await redis.stop();
  await redis.start();
  const emptied = 'the store has lost its list of changes, and with it perhaps keys and usage';
  await until(() => says(gateway, emptied));
  await until(async () => (await call(gateway, { key: 'eve' })).status === 401);
  await until(async () => (await readyz(gateway)).status === 200);
  assert.deepEqual(
    gateway.logs().flatMap(({ msg, level }) => (msg === emptied ? [level] : [])),
    ['error'],
  );
});

test('a gateway stops in time while its Redis is away', async (t) => {
  const { redis, gateway } = await prepare(t);
  await call(gateway, { key: 'bob' });
  redis.signal('SIGSTOP');
  const startedAt = performance.now();
  assert.equal((await gateway.stop()).code, 0);
  assert.ok(performance.now() - startedAt < 8000);
});

test('when the SQLite file is deleted, an unknown key is 500, never 401, and the gateway is not ready', async (t) => {
  const folder = tempFolder(t);
  const scene = await openQuotaScene(t, { plans, keys }, `sqlite:${folder}/gatehouse.db`);
  const gateway = await scene.start();
  assert.equal((await call(gateway, { key: 'nobody' })).status, 401);
  for (const end of ['', '-wal', '-shm']) rmSync(`${folder}/gatehouse.db${end}`, { force: true });
  const answer = await call(gateway, { key: 'somebody' });
  assert.equal(answer.status, 500);
  assert.equal(answer.refusal, 'keys_unavailable');
  assert.equal(answer.text, '{"error":"Internal server error"}');
  await until(async () => (await readyz(gateway)).status === 503);
  assert.deepEqual((await readyz(gateway)).reasons, ['the store does not answer']);
});

for (const workers of [1, 2]) {
  test(`whose readiness leaves out the store is sent traffic without it, with ${workers} processes`, async (t) => {
    const redis = await startRedisServer(t);
    const scene = await openQuotaScene(t, { plans, keys }, redis.url);
    const gateway = await scene.start({ workers });
    await redis.stop();
    await until(async () => (await readyz(gateway)).status === 503);
    const answer = await readyz(gateway, '?exclude=store');
    assert.deepEqual(answer, { status: 200, reasons: ['the store does not answer'] });
    assert.equal((await call(gateway, { key: 'gus' })).status, 200);
    assert.match(await gateway.metrics(), /^gatehouse_ready 0$/m);
    await redis.start();
    await until(async () => (await readyz(gateway)).status === 200);
    assert.match(await gateway.metrics(), /^gatehouse_ready 1$/m);
  });
}

test('no command gives a gateway whose SQLite file was deleted an empty one in its place', async (t) => {
  const folder = tempFolder(t);
  const file = `${folder}/gatehouse.db`;
  const scene = await openQuotaScene(t, { plans, keys }, `sqlite:${file}`);
  const gateway = await scene.start();
  assert.equal((await call(gateway, { key: 'nobody' })).status, 401);
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
  const run = (...words: string[]) => runCli([...words, '--config', gateway.configFile]);
  const looks = [
    ['usage', 'show'],
    ['keys', 'list'],
  ];
  for (const { code, stderr } of await Promise.all(looks.map((words) => run(...words)))) {
    assert.equal(code, 74);
    assert.equal(stderr, `gatehouse: the store cannot be used: cannot open ${file}: there is no such file\n`);
  }
  const { code, stderr } = await run('keys', 'create', '--plan', 'free', '--quiet');
  assert.deepEqual([code, stderr], [0, `gatehouse: a new store was made at ${file}\n`]);

  assert.equal((await call(gateway, { key: 'somebody' })).refusal, 'keys_unavailable');
  assert.equal((await call(gateway, { key: 'ada' })).refusal, 'quota_unavailable');
  const reason = `${file} is not the database that it was at the start`;
  // A further reason of an outage is told by a call that fails five seconds after the last.
  await until(async () => {
    await readyz(gateway);
    return gateway.logs().some((line) => line['reason'] === reason);
  });
  await until(async () => (await readyz(gateway)).status === 503);
  await gateway.stop();
  const next = await scene.start();
  assert.equal((await call(next, { key: 'ada' })).status, 200, 'until a restart');
});

test('workers that stop while Redis is silent say what is lost before their time is over', async (t) => {
  const redis = await startRedisServer(t);
  const yaml = { workers: 2, storeDeadline: '8s', drain: { timeout: '200ms' } };
  const both = { both: { quotas, concurrency: { limit: 100, shared: true } } };
  const scene = await openQuotaScene(t, { plans: both, keys: keysOf('both', 'ada'), ...yaml }, redis.url);
  const gateway = await scene.start();
  const callMany = () => Promise.allSettled(Array.from({ length: 20 }, () => call(gateway, { key: 'ada' })));
  for (let round = 0; round < 5; round += 1) await callMany();
  redis.signal('SIGSTOP');
  // A reload asks the store for the keys of the file, and waits for that as well.
  gateway.child.kill('SIGHUP');
  await until(() => says(gateway, 'the configuration was reloaded'));
  // Requests that still wait for the store when their connections are cut.
  const waiting = callMany();
  await until(async () => (await gateway.inFlight()) >= 20);
  assert.equal((await gateway.stop()).code, 0);
  await waiting;
  assert.ok(says(gateway, 'the store is still away: what was owed is lost'));
  assert.ok(!says(gateway, 'a worker has not finished in time and is killed'));
});

test('an SQLite file that cannot be opened ends the start with code 74', async (t) => {
  await assert.rejects(startGateway(t, { store: 'sqlite:/dev/null/gatehouse.db' }), (error: Error) => {
    assert.match(error.message, /the store cannot be opened: cannot open \/dev\/null\/gatehouse\.db/);
    return true;
  });
});

/** A key in the store, as the key commands make it. */
async function putKey(scene: QuotaScene, id: string): Promise<void> {
  const store = await openStore(parseStoreAddress(scene.store), { deadlineMs: 2000 });
  const to = aKey({ id, secrets: [aSecret({ digest: digestOf(secretOf(id)) })] });
  assert.equal(await store.keys.changeKey({ from: undefined, to, note: aNote() }), 'done');
  await store.close();
}

async function timed(answer: Promise<Answer>): Promise<Answer> {
  const startedAt = performance.now();
  const given = await answer;
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < inTimeMs, `${tookMs} ms`);
  return given;
}

function says(gateway: Gateway, sentence: string): boolean {
  return gateway.logs().some(({ msg }) => msg === sentence);
}

async function readyz({ adminUrl }: Gateway, query = ''): Promise<{ status: number; reasons: string[] }> {
  const answer = await fetch(`${adminUrl}/readyz${query}`);
  const { reasons } = (await answer.json()) as { reasons: string[] };
  return { status: answer.status, reasons };
}
