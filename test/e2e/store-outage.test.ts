import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { commandHere } from '../helpers/command-here.ts';
import { until } from '../helpers/poll.ts';
import {
  call,
  keysOf,
  openQuotaScene,
  secretOf,
  usedSettlesAt,
  type Answer,
  type QuotaScene,
} from '../helpers/quota-scene.ts';
import { durable, startRedisServer } from '../helpers/redis-server.ts';
import { removeStore } from '../helpers/sqlite-file.ts';
import type { Gateway, LogLine } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

/** Longer than by default: what is to be answered may have to wait for a processor, or for the disk. */
const storeDeadline = '2s';
/** The deadline, and what a busy machine may add to it. */
const inTimeMs = 2_000 + 5_000;

const quotas = [{ name: 'life', limit: 10_000, per: 'lifetime' }];
const plans = {
  strict: { quotas, consistency: 'strict' },
  leased: { quotas },
  allow: { quotas, consistency: 'strict', onStoreFailure: 'allow' },
  crowded: { concurrency: { limit: 2, shared: true }, onStoreFailure: 'allow' },
  paced: { rate: { limit: 40, per: 'second' } },
  narrow: { concurrency: { limit: 2, shared: true } },
  free: {},
};
const keys = [
  ...keysOf('strict', 'ada', 'ada0', 'ada1', 'ada2'),
  ...keysOf('leased', 'bob'),
  ...keysOf('allow', 'cyd0', 'cyd1', 'cyd2'),
  ...keysOf('crowded', 'gus', 'gus0', 'gus1', 'gus2'),
  ...keysOf('paced', 'dan0', 'dan1', 'dan2'),
  ...keysOf('narrow', 'una'),
];

/** One Redis whose outages come one after the other, and a gateway that lives through them all. Each test has keys of its own. */
const redis = await startRedisServer({ after }, { args: durable });
const scene = await openQuotaScene({ after }, { plans, keys, storeDeadline }, redis.url);
const gateway = await scene.start();

/** The same on a SQLite file, which is locked and in the end deleted. */
const file = `${tempFolder({ after })}/gatehouse.db`;
const filed = await openQuotaScene({ after }, { plans, keys, storeDeadline }, `sqlite:${file}`);
const onFile = await filed.start();

/** Two workers with a Redis of their own, which they end by being silent. */
const silent = await startRedisServer({ after });
const crew = await openQuotaScene(
  { after },
  {
    plans: { ...plans, both: { quotas, concurrency: { limit: 100, shared: true } } },
    keys: [...keys, ...keysOf('both', 'eda')],
    workers: 2,
    storeDeadline: '8s',
    drain: { timeout: '200ms' },
  },
  silent.url,
);
const leading = await crew.start();

const outages = [
  {
    name: 'a Redis that does not answer',
    begin: async () => redis.signal('SIGSTOP'),
    end: async () => redis.signal('SIGCONT'),
  },
  {
    name: 'a Redis that is gone',
    begin: () => redis.stop(),
    end: () => redis.start(),
  },
  {
    name: 'a Redis that has no memory left',
    begin: () => redis.say('CONFIG', 'SET', 'maxmemory', 1),
    end: () => redis.say('CONFIG', 'SET', 'maxmemory', 0),
  },
];

for (const [at, { name, begin, end }] of outages.entries()) {
  const [ada, cyd, gus, dan] = ['ada', 'cyd', 'gus', 'dan'].map((one) => `${one}${at}`) as [
    string,
    string,
    string,
    string,
  ];
  test(`${name}: requests are refused or let through in time, as their plan says, and counted later`, async () => {
    const before = times('the store does not answer');
    for (const key of [ada, cyd, gus, dan]) assert.equal((await call(gateway, { key })).status, 200);
    const owedBefore = await Promise.all(['allow', 'crowded'].map(owedBy));
    await begin();

    const seen = scene.upstream.requests.length;
    for (const key of [ada, dan]) {
      for (let turn = 0; turn < 20; turn += 1) {
        const refused = await timed(call(gateway, { key }));
        assert.equal(refused.status, 503);
        assert.equal(refused.refusal, 'quota_unavailable');
        assert.equal(refused.headers['retry-after'], '1');
      }
    }
    assert.equal(scene.upstream.requests.length, seen, 'none of them went through');
    const crowd = await Promise.all(Array.from({ length: 50 }, () => timed(call(gateway, { key: ada }))));
    assert.ok(crowd.every(({ status }) => status === 503));
    for (const key of [cyd, gus]) {
      for (let turn = 0; turn < 20; turn += 1)
        assert.equal((await timed(call(gateway, { key }))).status, 200);
    }
    // What it was asked before may be told for two seconds more.
    await until(async () => (await gateway.readiness()).status === 503);
    await isTold(before, gateway, ada);
    assert.equal(lastOfStore(), 'the store does not answer', 'the outage is not over');

    await end();
    await until(async () => (await call(gateway, { key: ada })).status === 200);
    await usedSettlesAt(gateway, 21, cyd);
    await usedSettlesAt(gateway, 2, ada);
    await until(() => lastOfStore() === 'the store answers again');
    for (const [which, plan] of ['allow', 'crowded'].entries()) {
      const key = plan === 'allow' ? cyd : gus;
      const isOnCredit = ({ keyId, msg, owed }: LogLine): boolean =>
        keyId === key && msg === 'answered' && owed === true;
      await until(() => gateway.logs().filter(isOnCredit).length === 20);
      assert.equal((await owedBy(plan)) - owedBefore[which]!, 20, `of ${plan} as many are owed`);
    }
  });
}

interface Absence {
  readonly name: string;
  readonly scene: QuotaScene;
  readonly gateway: Gateway;
  begin(): Promise<void>;
  end(): Promise<void>;
}

const locker = new DatabaseSync(file, { timeout: 5000 });
after(() => locker.close());
const absences: readonly Absence[] = [
  { name: 'a Redis that was gone', scene, gateway, begin: () => redis.stop(), end: () => redis.start() },
  {
    name: 'a SQLite file that was locked',
    scene: filed,
    gateway: onFile,
    begin: async () => locker.exec('BEGIN IMMEDIATE'),
    end: async () => locker.exec('ROLLBACK'),
  },
];

for (const absence of absences) {
  test(`${absence.name} learns soon of the shared places that were left meanwhile`, async () => {
    const { upstream } = absence.scene;
    const narrow = () => call(absence.gateway, { key: 'una' });
    const told = times('the store does not answer', absence.gateway);
    const release = Promise.withResolvers<void>();
    upstream.handler = (_request, res) => void release.promise.then(() => res.end('ok'));
    const seen = upstream.requests.length;
    const answers = [narrow(), narrow()];
    await until(() => upstream.requests.length === seen + 2);
    await absence.begin();
    release.resolve();
    for (const answer of answers) assert.equal((await answer).status, 200);
    await isTold(told, absence.gateway, 'una');
    await absence.end();
    // The places would expire by themselves 30 s after they were taken.
    await until(async () => (await narrow()).status === 200, { within: 12_000 });
  });
}

test('units that were drawn already are spent before anyone is refused', async () => {
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

/** A gateway that starts before its Redis, and asks it for the key of every request. */
const late = await startRedisServer({ after }, { args: ['--requirepass', 'swordfish'] });
await late.stop();
const own = await openQuotaScene(
  { after },
  { plans, keys, storeDeadline, auth: { cacheFor: '0s' } },
  late.url.replace('//', '//:swordfish@'),
);
const early = await own.start();

test('a gateway that starts before its Redis says so, and works as soon as it is there', async () => {
  assert.ok(says(early, 'the store does not answer'));
  const { status, reasons } = await early.readiness();
  assert.equal(status, 503);
  assert.equal(reasons.length, 1);
  assert.match(reasons[0] ?? '', /^the store does not answer: Redis is not connected: .+ \(ECONNREFUSED\)$/);
  assert.equal((await timed(call(early))).refusal, 'quota_unavailable');
  await late.start();
  await until(async () => (await call(early)).status === 200);
  await until(async () => (await early.readiness()).status === 200);
  await usedSettlesAt(early, 1);
});

test('a key that was seen lately goes on when keys cannot be looked up; any other is 500, never 401', async () => {
  for (const each of [scene, own]) for (const id of ['eve', 'fay']) await putKey(each, id);
  for (const each of [gateway, early]) assert.equal((await timed(call(each, { key: 'eve' }))).status, 200);
  await redis.stop();
  late.signal('SIGSTOP');
  for (const each of [gateway, early]) {
    assert.equal((await timed(call(each, { key: 'eve' }))).status, 200);
    for (const key of ['fay', 'nobody']) {
      const answer = await timed(call(each, { key }));
      assert.equal(answer.status, 500);
      assert.equal(answer.refusal, 'keys_unavailable');
      assert.equal(answer.text, '{"error":"Internal server error"}');
    }
  }
  await redis.start();
  late.signal('SIGCONT');
  await until(async () => (await call(early, { key: 'fay' })).status === 200);
  assert.equal((await call(early, { key: 'nobody' })).status, 401);
});

test('a Redis that comes back without its keys is told of once, and the gateway goes on', async () => {
  const emptied = 'the store has lost its list of changes, and with it perhaps keys and usage';
  assert.ok(!says(early, emptied));
  // That there was a change it has to know.
  const before = await changesRead(early);
  await until(async () => (await changesRead(early)) > before + 1);
  await late.stop();
  await late.start();
  await until(() => says(early, emptied));
  await until(async () => (await call(early, { key: 'eve' })).status === 401);
  await until(async () => (await early.readiness()).status === 200);
  assert.deepEqual(
    early.logs().flatMap(({ msg, level }) => (msg === emptied ? [level] : [])),
    ['error'],
  );
  assert.doesNotMatch(early.logText(), /swordfish/);
});

for (const [processes, asked, server] of [
  ['one process', gateway, redis],
  ['two workers', leading, silent],
] as const) {
  test(`whose readiness leaves out the store is sent traffic without it: ${processes}`, async () => {
    await server.stop();
    await until(async () => (await asked.readiness()).status === 503);
    const { status, reasons } = await asked.readiness('?exclude=store');
    assert.equal(status, 200);
    for (const reason of reasons) assert.match(reason, /^the store does not answer: Redis /);
    assert.notEqual(reasons.length, 0);
    assert.equal((await call(asked, { key: 'gus' })).status, 200);
    assert.match(await asked.metrics(), /^gatehouse_ready 0$/m);
    await server.start();
    await until(async () => (await asked.readiness()).status === 200);
    assert.match(await asked.metrics(), /^gatehouse_ready 1$/m);
  });
}

// The last of those that share the gateway.
test('a gateway stops in time while its Redis is away', async () => {
  assert.equal((await call(gateway, { key: 'bob' })).status, 200);
  redis.signal('SIGSTOP');
  const startedAt = performance.now();
  assert.equal((await gateway.stop()).code, 0);
  assert.ok(performance.now() - startedAt < 20_000);
});

// The last of those that share the gateway on the file.
test('when the SQLite file is deleted, an unknown key is 500, never 401, and no command makes an empty one in its place', async () => {
  const bereft = onFile;
  assert.equal((await call(bereft, { key: 'nobody' })).status, 401);
  removeStore(file);
  const answer = await call(bereft, { key: 'somebody' });
  assert.equal(answer.status, 500);
  assert.equal(answer.refusal, 'keys_unavailable');
  assert.equal(answer.text, '{"error":"Internal server error"}');
  await until(async () => (await call(bereft, { key: 'nobody' })).status === 500, { within: 20_000 });
  await until(async () => (await bereft.readiness()).status === 503);
  assert.match(
    (await bereft.readiness()).reasons.join(),
    /^the store does not answer: [^,]+: there is no such file$/,
  );
  const looks = [
    ['usage', 'show'],
    ['keys', 'list'],
  ];
  const config = ['--config', bereft.configFile];
  for (const words of looks) {
    const { code, stderr } = await commandHere([...words, ...config]);
    assert.equal(code, 74);
    assert.equal(stderr, `gatehouse: the store cannot be used: cannot open ${file}: there is no such file\n`);
  }
  const { code, stderr } = await commandHere(['keys', 'create', '--plan', 'free', '--quiet', ...config]);
  assert.deepEqual([code, stderr], [0, `gatehouse: a new store was made at ${file}\n`]);

  assert.equal((await call(bereft, { key: 'somebody' })).refusal, 'keys_unavailable');
  assert.equal((await call(bereft, { key: 'ada' })).refusal, 'quota_unavailable');
  const reason = `${file} is not the database that it was at the start`;
  // A further reason of an outage is told by a call that fails five seconds after the last.
  await until(async () => {
    await bereft.readiness();
    return bereft.logs().some((line) => line['reason'] === reason);
  });
  await until(async () => (await bereft.readiness()).status === 503);
  assert.equal(
    (await commandHere(['usage', 'show', 'ada', ...config])).code,
    0,
    'whoever starts now uses it',
  );
});

test('workers that stop while Redis is silent say what is lost before their time is over', async () => {
  const callMany = () => Promise.allSettled(Array.from({ length: 20 }, () => call(leading, { key: 'eda' })));
  for (let round = 0; round < 5; round += 1) await callMany();
  silent.signal('SIGSTOP');
  // A reload asks the store for the keys of the file, and waits for that as well.
  leading.child.kill('SIGHUP');
  await until(() => says(leading, 'the configuration was reloaded'));
  // Requests that still wait for the store when their connections are cut.
  const waiting = callMany();
  await until(async () => (await leading.inFlight()) >= 20);
  assert.equal((await leading.stop()).code, 0);
  await waiting;
  assert.ok(says(leading, 'the store is still away: what was owed is lost'));
  assert.ok(!says(leading, 'a worker has not finished in time and is killed'));
});

/** A key in the store, as the key commands make it. */
async function putKey(into: QuotaScene, id: string): Promise<void> {
  const store = await openStore(parseStoreAddress(into.store), { deadlineMs: 2000 });
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

function says(one: Gateway, sentence: string): boolean {
  return times(sentence, one) > 0;
}

function times(sentence: string, one = gateway): number {
  return one.logs().filter(({ msg }) => msg === sentence).length;
}

/** Whether it is away, by the log. On a slow machine it may have answered too late before, and be back since. */
function lastOfStore(): unknown {
  const sentences: readonly unknown[] = ['the store does not answer', 'the store answers again'];
  return gateway.logs().findLast(({ msg }) => sentences.includes(msg))?.['msg'];
}

/** Of an outage that follows another within five seconds the first call after them tells. */
async function isTold(before: number, one: Gateway, key: string): Promise<void> {
  await until(async () => {
    await call(one, { key });
    return times('the store does not answer', one) > before;
  });
}

/** How many requests of a plan were let through on credit. */
async function owedBy(plan: string): Promise<number> {
  const series = new RegExp(`quota_decisions_total\\{plan="${plan}",outcome="owed"\\} (\\d+)\n`);
  return Number(series.exec(await gateway.metrics())?.[1] ?? 0);
}

/** How often it has read from the store which keys have changed. */
async function changesRead(one: Gateway): Promise<number> {
  const page = await one.metrics();
  const [read = 0, failed = 0] = ['duration_seconds_count', 'errors_total'].map((name) =>
    Number(new RegExp(`_store_${name}\\{operation="read_changes"\\} (\\d+)\n`).exec(page)?.[1] ?? 0),
  );
  return read - failed;
}
