import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { freePort } from '../helpers/free-port.ts';
import { until } from '../helpers/poll.ts';
import {
  call,
  keysOf,
  openQuotaScene,
  secretOf,
  usedBy,
  usedSettlesAt,
  workPath,
  type QuotaScene,
} from '../helpers/quota-scene.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import type { RecordedRequest } from '../helpers/recording-upstream.ts';
import type { Gateway } from '../helpers/start-gateway.ts';

const plans = ['answered', 'forwarded', 'success'] as const;

/** What a caller does, and what it costs. */
type Case = readonly [name: string, does: (key: string) => Promise<unknown>, costs: number];

const limit = 100;
let scene: QuotaScene;
let gateway: Gateway;
let upstreams: object;
const scope = { after: (undo: () => void | Promise<void>) => void undone.push(undo) };
const undone: (() => void | Promise<void>)[] = [];

const work = (key: string, headers: Record<string, string> = {}, path = workPath) =>
  call(gateway, { key, headers, path });
const sends = (options: Parameters<typeof call>[1]) => (key: string) => call(gateway, { key, ...options });
/** The upstream does as it is told. */
const upstreamDoes = (what: string, path?: string) => (key: string) => work(key, { 'x-do': what }, path);
const asksFor = (path: string) => (key: string) => work(key, {}, path);
const large = 'x'.repeat(2048);

const casesOf: Readonly<Record<(typeof plans)[number], readonly Case[]>> = {
  answered: [
    ['an answer', upstreamDoes('status 200'), 1],
    ['an answer that says not found', upstreamDoes('status 404'), 1],
    ['an answer that says internal error', upstreamDoes('status 500'), 0],
    ['an answer that says unavailable', upstreamDoes('status 503'), 0],
    ['an upstream that takes too long', upstreamDoes('hang', '/v1/hang'), 0],
    ['an upstream that hangs up', upstreamDoes('reset'), 0],
    ['an answer that breaks off', (key) => lost(upstreamDoes('break')(key)), 0],
    ['an upstream that is not there', asksFor('/v1/dead'), 0],
    ['a body that is not valid', asksFor('/v1/json'), 0],
    ['a body of the wrong type', (key) => work(key, { 'content-type': 'text/plain' }, '/v1/json'), 0],
    ['a body that is too large', sends({ body: large }), 0],
    ['an unknown route', asksFor('/v1/nowhere'), 0],
    ['a method that is not allowed', sends({ method: 'PUT' }), 0],
    ['a client that leaves amid its body', leavesAmidBody, 0],
    ['a client that leaves before the answer', leavesBeforeAnswer, 0],
    ['a client that leaves amid the answer', leavesAmidAnswer, 1],
    ['an answer that is lost behind one that breaks off', isLostBehindAnother, 0],
    ['answers behind one that does not come', leavesBehindAnother, 0],
    ['one answer behind which another ends the connection', endsBehindAnother, 10],
    ['a route that costs five', asksFor('/v1/five'), 5],
    ['five refused bodies of a route that costs five', sends({ path: '/v1/five', body: large }), 0],
    ['a route that is free', asksFor('/v1/free'), 0],
    ['a cost that the upstream raises', upstreamDoes('status 200 7', '/v1/priced'), 7],
    ['a cost that the upstream waives', upstreamDoes('status 200 0', '/v1/priced'), 0],
    ['a cost above all that is left', upstreamDoes('status 200 250', '/v1/priced'), 250],
    ['a cost that is no number', upstreamDoes('status 200 many', '/v1/priced'), 2],
    ['a cost of too many digits', upstreamDoes(`status 200 ${'9'.repeat(40)}`, '/v1/priced'), 1_000_000],
    ['a cost below nothing', upstreamDoes('status 200 -5', '/v1/priced'), 2],
    ['a cost that comes with a failure', upstreamDoes('status 500 7', '/v1/priced'), 0],
  ],
  forwarded: [
    ['an upstream that is not there', asksFor('/v1/dead'), 0],
    ['a client that leaves before the answer', leavesBeforeAnswer, 1],
    ['a client that leaves before any of its large body', leavesBeforeBody, 0],
  ],
  success: [
    ['a redirection', upstreamDoes('status 302'), 1],
    ['an answer that says not found', upstreamDoes('status 404'), 0],
  ],
};
/** Every case has a key of its own, so one gateway serves them all. */
const cases = plans.flatMap((charge) => casesOf[charge].map((one) => [charge, ...one] as const));

const planOf = (most: number) => ({ plan: { quotas: [{ name: 'life', limit: most, per: 'lifetime' }] } });
const keyOf = (index: number): string => `k${index}`;

before(async () => {
  const deadPort = await freePort();
  const keys = [
    ...cases.flatMap(([charge], index) => keysOf(charge, keyOf(index))),
    ...keysOf('poor', 'poor'),
    ...keysOf('rich', 'rich'),
    ...keysOf('wide', 'ada'),
  ];
  const quotas = [{ name: 'life', limit, per: 'lifetime' }];
  scene = await openQuotaScene(scope, {
    keys,
    plans: {
      ...Object.fromEntries(plans.map((charge) => [charge, { quotas, charge }])),
      poor: planOf(4).plan,
      rich: planOf(5).plan,
      wide: planOf(100_000).plan,
    },
    routes: [
      { path: workPath, methods: ['POST', 'GET'], body: { any: { maxSize: '1KB' } } },
      { path: '/v1/json', methods: ['POST'], body: { json: { schema: { required: ['name'] } } } },
      { path: '/v1/hang', methods: ['POST'], body: { any: {} }, upstream: 'hanging' },
      { path: '/v1/dead', methods: ['POST'], body: { any: {} }, upstream: 'dead' },
      { path: '/v1/five', methods: ['POST'], body: { any: { maxSize: '1KB' } }, cost: 5 },
      { path: '/v1/free', methods: ['POST'], body: { any: {} }, cost: 0 },
      { path: '/v1/priced', methods: ['POST'], body: { any: {} }, cost: 2, costHeader: 'X-Cost' },
    ],
    drain: { timeout: '200ms' },
  });
  scene.upstream.handler = (request, res) => answerAsTold(request, res);
  upstreams = {
    recognition: { targets: [scene.upstream.url] },
    hanging: { targets: [scene.upstream.url], timeouts: { response: '300ms' } },
    dead: { targets: [`http://127.0.0.1:${deadPort}`] },
  };
  gateway = await scene.start({ upstreams });
});

after(async () => {
  for (const undo of undone.toReversed()) await undo();
});

for (const [index, [charge, name, does, costs]] of cases.entries()) {
  test(`charge ${charge}: ${name} costs ${costs}`, async () => {
    const key = keyOf(index);
    await does(key);
    await usedSettlesAt(gateway, costs, key);
  });
}

test('the cost header never reaches the caller', async () => {
  const answer = await work(keyOf(0), { 'x-do': 'status 200 3' }, '/v1/priced');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['x-cost'], undefined);
});

test('a key that owes more than its limit is refused until the period ends', async () => {
  const key = keyOf(cases.findIndex(([, , , costs]) => costs === 250));
  const answer = await work(key);
  assert.equal(answer.refusal, 'quota_exhausted');
});

test('a route that only some plans can pay answers their keys, and takes nothing from the others', async () => {
  assert.equal((await work('rich', {}, '/v1/five')).status, 200);
  const refused = await work('poor', {}, '/v1/five');
  assert.deepEqual([refused.refusal, refused.headers['retry-after']], ['quota_exhausted', undefined]);
  const statuses = [];
  for (let turn = 0; turn < 5; turn += 1) statuses.push((await work('poor')).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 429]);
});

// The last of those that share the gateway.
test('what a gateway held is given back when it stops, for requests that it cuts, too, and usage outlives a restart, an edited limit, a renamed route and another secret', async () => {
  await callOften(gateway);
  const arrived = scene.upstream.requests.length;
  const cut = Array.from({ length: 5 }, () => lost(call(gateway, hanging)));
  await until(() => scene.upstream.requests.length === arrived + cut.length);
  assert.equal((await gateway.stop()).code, 0);
  await Promise.all(cut);

  const renamed = [{ name: 'other', path: '/v1/other', methods: ['GET', 'POST'], body: { any: {} } }];
  const keys = [{ id: 'ada', plan: 'wide', secret: secretOf('rotated') }];
  const wide = planOf(202).plan;
  const second = await scene.start({ plans: { wide }, routes: renamed, keys, upstreams });
  assert.equal(await usedBy(second, 'rotated'), 200);
  const statuses = [];
  for (let turn = 0; turn < 4; turn += 1)
    statuses.push((await call(second, { key: 'rotated', path: '/v1/other' })).status);
  assert.deepEqual(statuses, [200, 200, 429, 429]);
});

/** 200 calls, at a pace at which units are drawn ahead. */
async function callOften(caller: Gateway): Promise<void> {
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let turn = 0; turn < 20; turn += 1) assert.equal((await call(caller)).status, 200);
    }),
  );
}

/** The answers that do not begin. */
const waiting: ServerResponse[] = [];

/** The last answer that begins and does not end. */
let streaming: ServerResponse | undefined;

function answerAsTold({ headers }: RecordedRequest, res: ServerResponse): void {
  const [what = 'status', code = '200', cost] = (headers['x-do'] ?? '').split(' ').filter(Boolean);
  if (cost !== undefined) res.setHeader('X-Cost', cost);
  if (what === 'wait') waiting.push(res);
  if (what === 'reset') res.socket?.resetAndDestroy();
  if (what === 'status') res.writeHead(Number(code)).end(code === '204' ? undefined : 'ok');
  if (what !== 'stream' && what !== 'break') return;
  res.writeHead(200, { 'Content-Length': '100' }).write('begun');
  streaming = res;
  if (what === 'break') res.write('…', () => res.socket?.resetAndDestroy());
}

const hanging = { headers: { 'x-do': 'hang' } };

/** Waits for an answer that never comes whole. */
async function lost(answer: Promise<unknown>): Promise<void> {
  await assert.rejects(answer);
}

/** Sends a request on a connection of its own. */
async function post(key: string, header: readonly [string, string], body: string) {
  const raw = await openRaw(scope, gateway.port);
  raw.write(requestBytes(`POST ${workPath}`, [['apiKey', secretOf(key)], header], body));
  return raw;
}

async function leavesAmidBody(key: string): Promise<void> {
  const raw = await post(key, ['Content-Length', '500'], 'half of it');
  await until(async () => (await usedBy(gateway, key)) === 1);
  raw.socket.destroy();
}

async function leavesBeforeBody(key: string): Promise<void> {
  const raw = await openRaw(scope, gateway.port);
  const headers = [
    ['apiKey', secretOf(key)],
    ['Content-Length', '100000'],
    ['Expect', '100-continue'],
  ] as const;
  raw.write(requestBytes('POST /v1/priced', headers));
  await raw.receivedUntil((bytes) => bytes.includes('100 Continue'));
  await until(async () => (await usedBy(gateway, key)) === 2);
  raw.socket.destroy();
  await until(() => gateway.logs().some(({ refusal, keyId }) => refusal === 'client_gone' && keyId === key));
}

async function leavesBeforeAnswer(key: string): Promise<void> {
  const seen = scene.upstream.requests.length;
  const raw = await post(key, ['X-Do', 'hang'], 'x');
  await until(() => scene.upstream.requests.length > seen);
  raw.socket.destroy();
}

async function leavesAmidAnswer(key: string): Promise<void> {
  const raw = await post(key, ['X-Do', 'stream'], 'x');
  await raw.receivedUntil((bytes) => bytes.includes('begun'));
  raw.socket.destroy();
  await until(() => scene.upstream.requests.every(({ complete }) => complete));
}

/** None of the answers has reached a client that leaves while they wait for the one ahead of them. */
async function leavesBehindAnother(key: string): Promise<void> {
  const raw = await openRaw(scope, gateway.port);
  const apiKey = ['apiKey', secretOf(key)] as const;
  const first = requestBytes(`GET ${workPath}`, [apiKey, ['X-Do', 'hang']]);
  const seen = scene.upstream.requests.length;
  raw.write(
    Buffer.concat([first, ...['a', 'b'].map((word) => requestBytes(`GET ${workPath}?${word}`, [apiKey]))]),
  );
  await until(() => scene.upstream.requests.length === seen + 3);
  // Once this is answered, so are those.
  await usedBy(gateway, key);
  raw.socket.destroy();
  const lines = await until(() => {
    const told = gateway.logs().filter(({ keyId, path }) => keyId === key && path === workPath);
    return told.length === 3 ? told : undefined;
  });
  for (const line of lines)
    assert.deepEqual([line['status'], line['refusal'], line['cut']], [499, 'client_gone', undefined]);
}

/** Neither is charged: of the first the upstream is to blame, and of the second not its client. */
async function isLostBehindAnother(key: string): Promise<void> {
  const raw = await openRaw(scope, gateway.port);
  const apiKey = ['apiKey', secretOf(key)] as const;
  const first = requestBytes(`GET ${workPath}`, [apiKey, ['X-Do', 'stream']]);
  const seen = scene.upstream.requests.length;
  raw.write(Buffer.concat([first, requestBytes(`GET ${workPath}?second`, [apiKey])]));
  await raw.receivedUntil((bytes) => bytes.includes('begun'));
  await until(() => scene.upstream.requests.length === seen + 2);
  // Once this is answered, so is the second.
  await usedBy(gateway, key);
  streaming?.socket?.resetAndDestroy();
  await raw.receivedUntilClose();
  const lines = await until(() => {
    const told = gateway.logs().filter(({ msg, keyId }) => msg === 'cut short' && keyId === key);
    return told.length === 2 ? told : undefined;
  });
  assert.deepEqual(new Set(lines.map(({ cut }) => cut)), new Set(['upstream', 'gateway']));
}

/** What stands behind a refusal that ends the connection is not begun: its answer would be lost, and charged. */
async function endsBehindAnother(key: string): Promise<void> {
  const apiKey = ['apiKey', secretOf(key)] as const;
  const waits = requestBytes(`GET ${workPath}`, [apiKey, ['X-Do', 'wait']]);
  const asks = requestBytes('GET /v1/nowhere', [apiKey, ['Expect', '100-continue']], 'body');
  const coded = requestBytes(
    'GET /v1/nowhere',
    [apiKey, ['Transfer-Encoding', 'gzip, chunked']],
    '0\r\n\r\n',
  );
  for (const [refused, why] of [
    [asks, 404],
    [coded, 400],
  ] as const) {
    for (let turn = 0; turn < 5; turn += 1) {
      const seen = scene.upstream.requests.length;
      const raw = await openRaw(scope, gateway.port);
      raw.write(Buffer.concat([waits, refused, waits]));
      await until(() => waiting.length > 0);
      for (const res of waiting.splice(0)) res.end('ok');
      await raw.receivedUntilClose();
      assert.deepEqual(
        (await raw.responses(3)).map((answer) => answer.status),
        [200, why],
      );
      assert.equal(scene.upstream.requests.length, seen + 1);
    }
  }
}
