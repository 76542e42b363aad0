import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { stringify } from 'yaml';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { commandHere } from '../helpers/command-here.ts';
import { writeTemporary } from '../helpers/config-file.ts';
import { freePort } from '../helpers/free-port.ts';
import { until } from '../helpers/poll.ts';
import {
  call,
  keysOf,
  openQuotaScene,
  secretOf,
  usagePath,
  usedBy,
  usedSettlesAt,
  type Answer,
} from '../helpers/quota-scene.ts';
import { exchange, requestBytes } from '../helpers/raw-socket.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { baseConfig, type Gateway } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const day = 86_400;
const basePath = '/api';

const plans = {
  told: {
    quotas: [
      { name: 'daily', limit: 3, per: 'day', warnAt: '60%' },
      { name: 'life', limit: 999_999_999_999_999, per: 'lifetime' },
    ],
    rate: { limit: 50, per: 'minute', burst: 60 },
    concurrency: 8,
  },
  slow: { rate: { limit: 1, per: 'second' } },
  short: { quotas: [{ name: 'second', limit: 1, per: 'second' }] },
  warned: { quotas: [{ name: 'life', limit: 10, per: 'lifetime', warnAt: '80%' }] },
  long: { quotas: [{ name: 'life', limit: 10, per: 'lifetime', warnAt: '50%' }] },
  'used-up': { quotas: [{ name: 'life', limit: 1, per: 'lifetime', warnAt: '80%' }] },
  paced: { rate: { limit: 100, per: 'hour', burst: 20 } },
  narrow: { concurrency: { limit: 3, shared: true } },
  own: { concurrency: 3 },
  lone: { concurrency: { limit: 1, shared: true } },
  left: { quotas: [{ name: 'life', limit: 5, per: 'lifetime' }], concurrency: 2 },
  read: {
    quotas: [
      { name: 'daily', limit: 4, per: 'day' },
      { name: 'life', limit: 9, per: 'lifetime' },
    ],
  },
  full: {
    quotas: [{ name: 'daily', limit: 2, per: 'day', timezone: 'Asia/Tokyo' }],
    rate: { limit: 2, per: 'hour' },
    concurrency: 4,
  },
  replaced: { quotas: [{ name: 'life', limit: 9, per: 'lifetime' }] },
};

/** Nearly every test has a key of its own, called like its plan, so two gateways on each store serve all of them. */
const shared = {
  basePath,
  keys: [...Object.keys(plans).flatMap((name) => keysOf(name, name)), ...keysOf('read', 'ada', 'bob')],
  plans,
  auth: { guessing: { failures: 5, per: '1h' } },
  // Callers leave while they wait for a store that is silent.
  storeDeadline: '10s',
};
const sqlite = await openScene();
const redis = await startRedisServer({ after });
const stores = { SQLite: sqlite, Redis: await openScene(redis.url) };
const [gateway] = sqlite.gateways;

async function openScene(store?: string) {
  const scene = await openQuotaScene({ after }, shared, store);
  const start = async (): Promise<Gateway> => {
    const started = await scene.start();
    return { ...started, url: started.url + basePath };
  };
  return { scene, gateways: await Promise.all([start(), start()]) };
}

/** The seconds until a day ends in a zone that is so many hours ahead of UTC. */
function leftOfDay(hoursAhead = 0): number {
  return day - ((Date.now() / 1000 + hoursAhead * 3600) % day);
}

/** What is used of a day is gone when the next begins, which it must not in the middle of a test. */
async function isLongBeforeMidnight(hoursAhead = 0): Promise<void> {
  await until(() => leftOfDay(hoursAhead) > 30);
}

test('answers and refusals tell of every limit in the syntax of the draft, and the log which quota is exhausted', async () => {
  await isLongBeforeMidnight();
  const before = leftOfDay();
  const answers: Answer[] = [];
  for (let turn = 0; turn < 4; turn += 1) answers.push(await call(gateway, { key: 'told' }));

  const [first, second, , refused] = answers;
  const policy =
    '"daily";q=3;w=86400, "life";q=999999999999999, "rate";q=60;w=72, "concurrency";q=8;qu="concurrent-requests"';
  for (const { headers } of answers) assert.equal(headers['ratelimit-policy'], policy);
  const isUntilMidnight = (seconds: unknown): boolean =>
    Number(seconds) >= Math.floor(leftOfDay()) && Number(seconds) <= Math.ceil(before);
  const state = String(first?.headers['ratelimit']);
  const [, seconds] =
    /^"daily";r=2;t=(\d+), "life";r=\d{15}, "rate";r=59;t=2, "concurrency";r=7$/.exec(state) ?? [];
  assert.ok(isUntilMidnight(seconds), state);
  assert.equal(first?.headers['x-gatehouse-quota-warning'], undefined);
  assert.equal(second?.headers['x-gatehouse-quota-warning'], '"daily"');

  assert.equal(refused?.status, 429);
  assert.equal(refused.refusal, 'quota_exhausted');
  assert.equal(refused.text, '{"error":"Quota exceeded"}');
  assert.match(String(refused.headers['ratelimit']), /^"daily";r=0;t=\d+/);
  assert.ok(isUntilMidnight(refused.headers['retry-after']));
  const line = await until(() =>
    gateway.logs().find(({ keyId, status }) => keyId === 'told' && status === 429),
  );
  const cause = { type: 'Refusal', message: 'too little is left of daily', code: 'quota_exhausted' };
  assert.deepEqual([line['level'], line['cause']], ['info', cause]);
});

test('an answer that took long tells what is left when it comes', async (t) => {
  const release = Promise.withResolvers<void>();
  t.after(() => release.resolve());
  const { upstream } = sqlite.scene;
  const seen = upstream.requests.length;
  upstream.handler = (_request, res) => void release.promise.then(() => res.end('ok'));
  const long = call(gateway, { key: 'long' });
  await until(() => upstream.requests.length === seen + 1);
  upstream.handler = (_request, res) => res.end('ok');
  for (let turn = 0; turn < 5; turn += 1) await call(gateway, { key: 'long' });
  release.resolve();
  const { headers } = await long;
  assert.equal(headers['ratelimit'], '"life";r=4');
  assert.equal(headers['x-gatehouse-quota-warning'], '"life"');
});

test('who waits for as long as Retry-After says is served, with a quota and with a rate', async () => {
  for (const [key, refusal] of [
    ['slow', 'rate_exceeded'],
    ['short', 'quota_exhausted'],
  ] as const) {
    const refused = await until(async () => {
      const atOnce = await Promise.all([call(gateway, { key }), call(gateway, { key })]);
      return atOnce.find(({ status }) => status === 429);
    });
    const refusedAt = performance.now();
    assert.equal(refused.refusal, refusal);
    const waitMs = Number(refused.headers['retry-after']) * 1000;
    assert.equal(waitMs, 1000);
    await until(() => performance.now() >= refusedAt + waitMs);
    assert.equal((await call(gateway, { key })).status, 200);
  }
});

test('a key that comes near its limit is one line in the log, with numbers and without its secret, and is counted', async () => {
  for (let turn = 0; turn < 12; turn += 1) await call(gateway, { key: 'warned' });
  const lines = () => gateway.logs().filter(({ keyId }) => keyId === 'warned');
  await until(() => lines().filter(({ msg }) => msg !== 'a key is near its limit').length === 12);
  const warnings = lines().filter(({ msg }) => msg === 'a key is near its limit');
  assert.equal(warnings.length, 1);
  const { keyId, plan: name, quota, used, limit } = warnings[0] ?? {};
  assert.deepEqual(
    { keyId, name, quota, used, limit },
    { keyId: 'warned', name: 'warned', quota: 'life', used: 8, limit: 10 },
  );
  assert.doesNotMatch(gateway.logText(), /secret-of/);
  assert.match(
    await gateway.metrics(),
    /^gatehouse_quota_near_limit_total\{plan="warned",quota="life"\} 1$/m,
  );
});

test('a key that others have used up is one line too, with the first refusal', async () => {
  const [other, told] = sqlite.gateways;
  assert.equal((await call(other, { key: 'used-up' })).status, 200);
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal((await call(told, { key: 'used-up' })).refusal, 'quota_exhausted');
  }
  const lines = () => told.logs().filter(({ keyId }) => keyId === 'used-up');
  await until(() => lines().filter(({ msg }) => msg !== 'a key is near its limit').length === 2);
  const warnings = lines().filter(({ msg }) => msg === 'a key is near its limit');
  assert.deepEqual(
    warnings.map(({ quota, used, limit }) => ({ quota, used, limit })),
    [{ quota: 'life', used: 1, limit: 1 }],
  );
});

for (const kind of ['SQLite', 'Redis'] as const) {
  test(`a rate and a shared concurrency hold over two processes, in ${kind}`, async (t) => {
    const { scene, gateways } = stores[kind];
    const paced = await callAll(gateways, 15, 'paced');
    assert.deepEqual(tally(paced), { 200: 20, rate_exceeded: 10 });

    const release = Promise.withResolvers<void>();
    t.after(() => release.resolve());
    scene.upstream.handler = (_request, res) => void release.promise.then(() => res.end('ok'));
    const seen = scene.upstream.requests.length;
    const refused: Answer[] = [];
    const narrow = callAll(gateways, 4, 'narrow', (answer) => refused.push(answer));
    const own = callAll(gateways, 4, 'own', (answer) => refused.push(answer));
    // None may arrive after the places are free again.
    await until(() => scene.upstream.requests.length === seen + 9 && refused.length === 5 + 2);
    release.resolve();
    assert.deepEqual(tally(await narrow), { 200: 3, too_many_in_flight: 5 });
    assert.deepEqual(tally(await own), { 200: 6, too_many_in_flight: 2 });
    // The places are free again, wherever they were.
    for (const key of ['narrow', 'own']) {
      await until(async () => {
        const { 200: served } = tally(await callAll(gateways.slice(0, 1), 3, key));
        return served === 3;
      });
    }
  });
}

test('a shared place is free in the store by the time that the client has read its answer', async (t) => {
  const { scene, gateways } = stores.SQLite;
  const database = new DatabaseSync(scene.store.slice('sqlite:'.length), { readOnly: true });
  t.after(() => database.close());
  const taken = database.prepare('SELECT count(*) AS places FROM places WHERE key = ?');
  for (let turn = 0; turn < 20; turn += 1) {
    const { status } = await call(gateways[turn % 2] as Gateway, { key: 'lone' });
    assert.deepEqual([status, taken.get('lone')?.['places']], [200, 0]);
  }
});

test('a caller that leaves while it waits for the store leaves nothing reserved and no place taken', async (t) => {
  const { scene, gateways } = stores.Redis;
  const [waiting] = gateways;
  const before = scene.upstream.requests.length;
  assert.equal((await call(waiting, { key: 'left' })).status, 200);
  redis.signal('SIGSTOP');
  t.after(() => redis.signal('SIGCONT'));
  const leaving = new AbortController();
  const { signal } = leaving;
  const left = [call(waiting, { key: 'left', signal }), call(waiting, { key: 'left', signal })];
  await until(async () => (await waiting.inFlight()) === 2);
  leaving.abort();
  for (const answer of left) await assert.rejects(answer);
  await until(async () => (await waiting.inFlight()) === 0);
  const metrics = await waiting.metrics();
  assert.match(metrics, /quota_decisions_total\{plan="left",outcome="client_gone"\} 2\n/);
  redis.signal('SIGCONT');
  await until(async () => (await call(waiting, { key: 'left' })).status === 200);
  await usedSettlesAt(waiting, 2, 'left');
  assert.equal(scene.upstream.requests.length, before + 2);
});

test('a key reads its own usage, at no cost and even when nothing is left', async (t) => {
  const [, other] = sqlite.gateways;
  await isLongBeforeMidnight(9);
  const before = sqlite.scene.upstream.requests.length;
  const read = (options = {}) => call(other, { key: 'full', path: usagePath, method: 'GET', ...options });
  for (let turn = 0; turn < 4; turn += 1) await call(other, { key: 'full' });
  const { status, text, headers } = await read();
  assert.equal(status, 200);
  assert.equal(headers['cache-control'], 'no-store');
  const { quotas: told, ...rest } = JSON.parse(text) as { quotas: { resetsAt: string }[] };
  assert.deepEqual(rest, {
    key: 'full',
    plan: 'full',
    rate: { limit: 2, perSeconds: 3600, burst: 2 },
    concurrency: 4,
  });
  const [{ resetsAt, ...quota }] = told as [{ resetsAt: string }];
  assert.deepEqual(quota, { name: 'daily', limit: 2, per: 'day', used: 2, remaining: 0 });
  assert.match(resetsAt, /T15:00:00\.000Z$/);
  assert.equal(sqlite.scene.upstream.requests.length, before + 2);
  const line = await until(() => other.logs().find(({ path }) => path === basePath + usagePath));
  assert.deepEqual([line['route'], line['status'], line['keyId']], ['usage', 200, 'full']);

  assert.equal((await read({ key: 'nobody' })).refusal, 'key_invalid');
  const posted = await read({ method: 'POST' });
  assert.equal(posted.refusal, 'method_not_allowed');
  assert.equal(posted.headers['allow'], 'GET, HEAD');
  const bare = await exchange(t, other.port, requestBytes(`GET ${basePath}${usagePath}`));
  assert.equal(bare.headers['x-gatehouse-refusal'], 'key_missing');
});

for (const kind of ['SQLite', 'Redis'] as const) {
  test(`people read and set usage beside running gateways, in ${kind}`, async () => {
    const [first, second] = stores[kind].gateways;
    await isLongBeforeMidnight();
    for (let turn = 0; turn < 5; turn += 1) await call(first);
    const usage = (...words: readonly string[]) =>
      commandHere(['usage', ...words, '--config', first.configFile]);

    const table = await usage('show', 'ada');
    assert.equal(table.code, 0, table.stderr);
    const midnight = new Date((Math.floor(Date.now() / 1000 / day) + 1) * day * 1000).toISOString();
    assert.deepEqual(
      table.stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/)),
      [
        ['KEY', 'PLAN', 'QUOTA', 'LIMIT', 'USED', 'LEASED', 'REMAINING', 'RESETS'],
        ['ada', 'read', 'daily', '4', '4', '0', '0', midnight.replace('.000', '')],
        ['ada', 'read', 'life', '9', '4', '0', '5', 'never'],
      ],
    );
    const all = (await usage('show', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { key: string; quotas: { used: number }[] });
    assert.deepEqual(
      all
        .filter(({ key }) => ['ada', 'bob'].includes(key))
        .map(({ key, quotas }) => [key, ...quotas.map(({ used }) => used)]),
      [
        ['ada', 4, 4],
        ['bob', 0, 0],
      ],
    );

    const silent = await usage('reset', 'ada');
    assert.equal(silent.code, 64);
    assert.match(silent.stderr, /--yes/);
    assert.equal(await usedBy(first), 4);
    assert.equal((await usage('reset', 'ada', '--quota', 'daily', '-y')).code, 0);
    assert.equal((await call(first)).status, 200);
    assert.equal(await usedBy(first), 1);
    const set = (used: string) => usage('set', 'ada', '--quota', 'daily', '--used', used, '-y');
    assert.equal((await set('7')).stdout, 'daily of key ada: 7 used, nothing of 4 left\n');
    for (const one of [first, second]) assert.equal((await call(one)).refusal, 'quota_exhausted');
    assert.equal((await set('3')).stdout, 'daily of key ada: 3 used, 1 of 4 left\n');
    await until(async () => (await call(second)).status === 200);
    assert.equal((await call(first)).refusal, 'quota_exhausted');
    assert.equal(await usedBy(first), 4);
    assert.equal(
      (await usage('reset', 'adda', '--yes')).stderr,
      'gatehouse: there is no such key, did you mean "ada"?\n',
    );
  });
}

test('the own quotas of a key take the place of those of its plan, for callers and for people', async () => {
  const quotas = [
    { name: 'life', limit: 3, per: undefined, timezone: undefined },
    { name: 'trial', limit: 2, per: 'lifetime', timezone: undefined },
  ];
  const secrets = ['eve', 'eve-next'].map((word, index) =>
    aSecret({ number: index + 1, digest: digestOf(secretOf(word)) }),
  );
  const store = await openStore(parseStoreAddress(sqlite.scene.store));
  await store.keys.changeKey({
    from: undefined,
    to: aKey({ id: 'eve', plan: 'replaced', quotas, secrets }),
    note: aNote(),
  });
  await store.close();
  const statuses = [];
  for (const key of ['eve', 'eve-next', 'eve']) statuses.push((await call(gateway, { key })).status);
  assert.deepEqual(statuses, [200, 200, 429], 'both secrets draw on one quota');
  const shown = await commandHere(['usage', 'show', 'eve', '--json', '--config', gateway.configFile]);
  assert.match(shown.stdout, /^\{.*\}\n$/);
  const { quotas: seen } = JSON.parse(shown.stdout) as {
    quotas: { name: string; limit: number; used: number }[];
  };
  assert.deepEqual(
    seen.map(({ name, limit, used }) => [name, limit, used]),
    [
      ['life', 3, 2],
      ['trial', 2, 2],
    ],
  );
  assert.equal(await usedBy(gateway, 'eve'), 2);
});

test('who tries keys is slowed down, and a valid key from the same address is not', async () => {
  const tried = [];
  for (let turn = 0; turn < 8; turn += 1) tried.push(await call(gateway, { key: `guess-${turn}` }));
  assert.deepEqual(tally(tried), { key_invalid: 5, too_many_failures: 3 });
  assert.equal((await call(gateway, { key: 'left' })).status, 200);
  const slowed = tried.at(-1);
  assert.equal(slowed?.status, 429);
  assert.match(String(slowed.headers['retry-after']), /^3(?:[0-5]\d\d|600)$/);
  const lines = () => gateway.logs().filter(({ msg }) => String(msg).includes('guessing'));
  await until(() => lines().length > 0);
  assert.deepEqual(
    lines().map(({ network }) => network),
    ['127.0.0.1'],
  );
  assert.match(await gateway.metrics(), /gatehouse_key_failures_total\{slowed="yes"\} 3\n/);
});

test('to reset usage in a store that is not there ends with its own code and a sentence', async (t) => {
  const store = `redis://:swordfish@127.0.0.1:${await freePort()}`;
  const file = writeTemporary(t, stringify({ ...baseConfig('http://127.0.0.1:9', tempFolder(t)), store }));
  const { code, stderr, stdout } = await commandHere(['usage', 'reset', 'demo', '--yes', '--config', file]);
  assert.equal(code, 74);
  assert.match(stderr, /^gatehouse: the store cannot be used: /m);
  assert.doesNotMatch(stderr + stdout, /swordfish/);
});

async function callAll(
  gateways: readonly Gateway[],
  each: number,
  key: string,
  onAnswer: (answer: Answer) => void = () => undefined,
): Promise<Answer[]> {
  const callOne = async (one: Gateway): Promise<Answer> => {
    const answer = await call(one, { key });
    onAnswer(answer);
    return answer;
  };
  return Promise.all(gateways.flatMap((one) => Array.from({ length: each }, () => callOne(one))));
}

function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, refusal = String(status) } of answers) counts[refusal] = (counts[refusal] ?? 0) + 1;
  return counts;
}
