import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, get as httpGet, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { createAdminClient } from '../helpers/admin-client.ts';
import { until } from '../helpers/poll.ts';
import { lives, workersOf } from '../helpers/processes.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream, type RecordingUpstream } from '../helpers/recording-upstream.ts';
import { refuses } from '../helpers/refuses.ts';
import { countLines, refused, reload, taken } from '../helpers/reload.ts';
import { sql } from '../helpers/sqlite-file.ts';
import {
  baseConfig,
  demoKey,
  overlay,
  startGateway,
  type Gateway,
  type Yaml,
} from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const token = 'a-token-of-more-than-32-characters';
const over: Yaml = {
  admin: { token },
  storeDeadline: '30s',
  plans: { free: {}, few: { quotas: [{ name: 'all', limit: 3, per: 'lifetime' }] } },
  keys: [
    { id: 'demo', plan: 'free', secret: demoKey },
    { id: 'few', plan: 'few', secret: 'k-of-a-quota' },
  ],
  routes: [{ path: '/v1/*', methods: ['GET'], body: 'none' }],
  // It tells of the workers.
  log: { level: 'debug' },
};
/** A gateway of one process and one of two workers, which serve the tests in turn. */
const [alone, leading] = await Promise.all([
  startGateway({ after }, over),
  startGateway({ after }, { ...over, workers: 2 }),
]);
const get = (path: string, key = demoKey): Buffer => requestBytes(`GET ${path}`, [['apiKey', key]]);

/** Reloads the configuration of the start, with an upstream of its own for this test and what is laid over it. */
async function beginAnew(t: TestContext, gateway: Gateway, change: Yaml = {}): Promise<RecordingUpstream> {
  const upstream = await startRecordingUpstream(t);
  const upstreams = { recognition: { targets: [upstream.url] } };
  const workers = gateway === leading ? 2 : 1;
  const base = overlay(baseConfig(upstream.url, gateway.folder), { ...over, workers, upstreams });
  await reload(gateway, stringify(overlay(base, change)));
  return upstream;
}

async function reloadsOf(gateway: Gateway, outcome: string): Promise<number> {
  const series = new RegExp(`config_reloads_total\\{outcome="${outcome}"\\} (\\d+)\n`);
  return Number(series.exec(await gateway.metrics())?.[1]);
}

/** Whether the page says that the last reload was refused: 1 if it was. */
async function refusedOf(gateway: Gateway): Promise<string | undefined> {
  return /^gatehouse_config_refused (.*)$/m.exec(await gateway.metrics())?.[1];
}

/** How often the store was asked for units. */
async function drawsOf(gateway: Gateway): Promise<number> {
  const page = await gateway.metrics();
  return Number(/store_duration_seconds_count\{operation="draw"\} (\d+)/.exec(page)?.[1]);
}

function rebased(basePath: string): Yaml {
  return { upstreams: { recognition: { basePath } } };
}

function limited(limit: number): Yaml {
  return { plans: { few: { quotas: [{ name: 'all', limit, per: 'lifetime' }] } } };
}

function slow(change: Yaml = {}): Yaml {
  return { plans: { free: { rate: { limit: 1, per: 'hour', burst: 2 }, ...change } } };
}

async function statusOf(t: TestContext, gateway: Gateway, path: string, key?: string): Promise<number> {
  return (await exchange(t, gateway.port, get(path, key))).status;
}

for (const gateway of [alone, leading]) {
  const title = gateway === alone ? 'one process' : 'two workers';

  // The first of all, because nothing has happened yet.
  test(`what an alarm waits for is shown before there is any, also of what a reload brings: ${title}`, async () => {
    const quotas = [
      { name: 'warned', limit: 9, per: 'day', warnAt: '80%' },
      { name: 'silent', limit: 9, per: 'hour' },
    ];
    // A worker that had no turn of the processor for a moment is not on the page of that moment.
    const untilShown = async (expected: readonly string[]): Promise<string> => {
      let page = '';
      const missing = () => expected.filter((series) => !page.includes(`\ngatehouse_${series} 0\n`));
      const isWhole = async () => (page = await gateway.metrics()) !== '' && missing().length === 0;
      await until(isWhole).catch(() => assert.deepEqual(missing(), []));
      return page;
    };
    const zeros = [
      'upstream_errors_total{upstream="recognition",kind="unreachable"}',
      'upstream_errors_total{upstream="recognition",kind="cut"}',
      'store_errors_total{operation="find_key"}',
      'store_errors_total{operation="draw"}',
      'quota_decisions_total{plan="free",outcome="quota_unavailable"}',
      'key_failures_total{slowed="yes"}',
      'key_failures_total{slowed="no"}',
      'config_reloads_total{outcome="refused"}',
      'config_refused',
      'connections_refused_total',
      'worker_ends_total',
      'spool_memory_bytes',
      'spool_disk_bytes',
      'quota_dropped_steps_total',
    ];
    await untilShown(zeros);
    const targets = ['http://127.0.0.1:9'];
    await reload(gateway, { plans: { new: { quotas } }, upstreams: { new: { targets } } });
    const brought = [
      'upstream_errors_total{upstream="new",kind="timeout"}',
      'quota_decisions_total{plan="new",outcome="granted"}',
      'quota_near_limit_total{plan="new",quota="warned"}',
    ];
    const page = await untilShown([...zeros, ...brought]);
    assert.ok(!page.includes('silent'), 'no warning is expected of this quota');
  });

  test(`a reload changes routes, keys, plans, upstreams and words, without a restart: ${title}`, async (t) => {
    const [first, second] = [await beginAnew(t, gateway), await startRecordingUpstream(t)];
    const kept = await openRaw(t, gateway.port);
    kept.write(get('/v1/a'));
    assert.equal((await kept.responses(1))[0]?.status, 200);
    await reload(gateway, {
      plans: { free: {}, other: {} },
      keys: [{ id: 'new', plan: 'other', secret: 'k-new' }],
      upstreams: { recognition: { targets: [second.url] } },
      routes: [{ path: '/v1/new', methods: ['GET'], body: 'none' }],
      errors: { key_invalid: { message: 'Who are you?' } },
    });
    // The connection stays, whoever was let in by it.
    kept.write(get('/v1/new', 'k-new'));
    assert.equal((await kept.responses(2))[1]?.status, 200);
    for (let at = 0; at < 4; at += 1) {
      assert.equal(await statusOf(t, gateway, '/v1/a', 'k-new'), 404);
      const answer = await exchange(t, gateway.port, get('/v1/new'));
      assert.equal(answer.status, 401);
      assert.match(answer.body.toString(), /Who are you\?/);
    }
    assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  });

  test(`the headers of the key are those of the new configuration: ${title}`, async (t) => {
    await beginAnew(t, gateway);
    const statusesOf = async (): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (const header of ['apiKey', 'X-API-Key', 'apiKey', 'X-API-Key']) {
        const bytes = requestBytes('GET /v1/a', [[header, demoKey]]);
        statuses.push((await exchange(t, gateway.port, bytes)).status);
      }
      return statuses;
    };
    assert.deepEqual(await statusesOf(), [200, 401, 200, 401]);
    await reload(gateway, { auth: { header: ['apiKey', 'X-API-Key'] } });
    assert.deepEqual(await statusesOf(), [200, 200, 200, 200]);
    await reload(gateway, { auth: { header: 'X-API-Key' } });
    assert.deepEqual(await statusesOf(), [401, 200, 401, 200]);
  });

  test(`a request under way keeps the base path with which it began, the next has the new one: ${title}`, async (t) => {
    const routes = [{ path: '/v1/*', methods: ['POST'], body: { json: { maxSize: '1MB' } } }];
    const upstream = await beginAnew(t, gateway, { routes });
    await reload(gateway, rebased('/old'));
    const bytes = requestBytes(
      'POST /v1/a',
      [
        ['apiKey', demoKey],
        ['Content-Type', 'application/json'],
      ],
      '{}',
    );
    const waiting = await openRaw(t, gateway.port);
    waiting.write(bytes.subarray(0, -1));
    await until(async () => (await gateway.inFlight()) === 1);
    await reload(gateway, rebased('/new'));
    assert.equal((await exchange(t, gateway.port, bytes)).status, 200);
    waiting.write(bytes.subarray(-1));
    assert.equal((await waiting.responses())[0]?.status, 200);
    await reload(gateway, { basePath: '/new' });
    const below = Buffer.from(bytes.toString().replace('/v1', '/new/v1'));
    assert.equal((await exchange(t, gateway.port, below)).status, 200);
    assert.deepEqual(
      upstream.requests.map(({ target, headers }) => [target, headers['x-forwarded-prefix']]),
      [
        ['/new/v1/a', '/'],
        ['/old/v1/a', '/'],
        ['/new/v1/a', undefined],
      ],
    );
  });

  test(`a configuration that is not in order changes nothing, and the log says why: ${title}`, async (t) => {
    await beginAnew(t, gateway);
    const [refusals, reloads] = [await reloadsOf(gateway, 'refused'), await reloadsOf(gateway, 'done')];
    const good = await readFile(gateway.configFile, 'utf8');
    for (const { change, why } of [
      { change: { routes: [{ path: '/v1/*', method: ['GET'] }] }, why: { problems: /routes\[0\]\.method/ } },
      { change: 'listen: [', why: { problems: /gateway\.yaml:1:/ } },
      { change: { listen: '127.0.0.1:1', log: { level: 'warn' } }, why: { options: /^\["listen","log"\]$/ } },
      { change: { limits: { inFlight: 7 } }, why: { options: /^\["limits"\]$/ } },
    ]) {
      await reload(gateway, change, refused);
      const line = gateway.logs().findLast(({ msg }) => String(msg).startsWith(refused));
      assert.equal(line?.['level'], 'error');
      for (const [field, pattern] of Object.entries(why))
        assert.match(JSON.stringify(line?.[field]), pattern);
      assert.equal(await statusOf(t, gateway, '/v1/a'), 200);
      assert.equal(await refusedOf(gateway), '1');
      await writeFile(gateway.configFile, good);
    }
    await rm(gateway.configFile);
    gateway.child.kill('SIGHUP');
    await until(() => gateway.logText().includes('there is no such file'));
    assert.equal(await statusOf(t, gateway, '/v1/a'), 200);
    await writeFile(gateway.configFile, good);
    await reload(gateway, {});
    await until(async () => (await reloadsOf(gateway, 'refused')) === refusals + 5);
    assert.equal(await reloadsOf(gateway, 'done'), reloads + 1);
    assert.equal(await refusedOf(gateway), '0');
  });

  test(`reloads under load lose no request: ${title}`, async (t) => {
    const upstream = await beginAnew(t, gateway);
    // Each caller has one in flight nearly all the time, whatever it costs to answer it.
    upstream.handler = (_, res) => void setTimeout(() => res.end('ok'), 10);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    t.after(() => agent.destroy());
    const statuses = new Map<number | string, number>();
    const load = { isOver: false };
    async function call(): Promise<void> {
      while (!load.isOver) {
        const status = await new Promise<number | string>((resolve) => {
          const options = { agent, headers: { apiKey: demoKey } };
          httpGet(`${gateway.url}/v1/a`, options, (res) => {
            res.resume().on('end', () => resolve(res.statusCode ?? 0));
          }).on('error', (error) => resolve(String(error)));
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    const callers = Array.from({ length: 8 }, call);
    for (let round = 0; round < 5; round += 1) {
      // Another upstream each time, with connections of its own.
      await reload(gateway, { upstreams: { recognition: { connections: 100 + round } } });
      const before = upstream.requests.length;
      await until(() => upstream.requests.length > before + 20);
    }
    load.isOver = true;
    await Promise.all(callers);
    assert.deepEqual([...statuses.keys()], [200]);
  });

  test(`the admin API goes by the new configuration, and secrets are read anew from their files: ${title}`, async (t) => {
    const secret = join(tempFolder(t), 'secret');
    await writeFile(secret, 'the-secret-before');
    const keys = [{ id: 'filed', plan: 'free', secret: `\${file:${secret}}` }];
    await beginAnew(t, gateway, { keys });
    const ask = await createAdminClient(gateway.adminUrl, token);
    const key = { body: { id: 'of-gold', plan: 'gold' } };
    assert.equal((await ask('POST', '/v1/keys', key)).status, 422);
    await writeFile(secret, 'the-secret-after');
    await reload(gateway, { plans: { gold: {} } });
    const made = await ask('POST', '/v1/keys', key);
    assert.equal(made.status, 201);
    assert.equal(await statusOf(t, gateway, '/v1/a', made.body.secret), 200);
    assert.equal(await statusOf(t, gateway, '/v1/a', 'the-secret-after'), 200);
    assert.equal(await statusOf(t, gateway, '/v1/a', 'the-secret-before'), 401);
  });
}

test('what is in flight ends under the configuration that it began with, at an upstream that is gone from it too', async (t) => {
  const gateway = alone;
  const first = await beginAnew(t, gateway, { upstreams: { recognition: { connections: 1 } } });
  const second = await startRecordingUpstream(t);
  const answers: ServerResponse[] = [];
  const sockets = new Set<Socket>();
  first.handler = (_request, res, req) => {
    answers.push(res);
    sockets.add(req.socket);
  };
  const asked = [await openRaw(t, gateway.port), await openRaw(t, gateway.port)];
  for (const client of asked) client.write(get('/v1/slow'));
  // The second stands in line for the one connection.
  await until(async () => answers.length === 1 && (await gateway.inFlight()) === 2);
  await reload(gateway, {
    upstreams: { recognition: { targets: [second.url] } },
    routes: [{ path: '/v1/b', methods: ['GET'], body: 'none' }],
  });
  assert.equal(await statusOf(t, gateway, '/v1/b'), 200);
  answers[0]?.writeHead(200).write('be');
  await until(() => asked.some((client) => client.received().includes('be')));
  answers[0]?.end('gin');
  await until(() => answers.length === 2);
  answers[1]?.end('later');
  for (const client of asked) assert.equal((await client.responses(1))[0]?.status, 200);
  // Nobody keeps a connection to an upstream that is not used any more.
  await until(() => [...sockets].every((socket) => socket.destroyed));
});

test('a WebSocket keeps its place on a route that gets another name', async (t) => {
  const gateway = alone;
  const route = { path: '/v1/live', methods: ['GET'], upgrade: { websocket: { maxSockets: 1 } } };
  const upstream = await beginAnew(t, gateway, { routes: [route] });
  const answers: ServerResponse[] = [];
  upstream.handler = (_request, res) => {
    if (answers.push(res) > 1) res.end();
  };
  const handshake = requestBytes('GET /v1/live', [
    ['apiKey', demoKey],
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ]);
  const first = await openRaw(t, gateway.port);
  first.write(handshake);
  await until(() => answers.length === 1);
  await reload(gateway, { routes: [{ ...route, name: 'live' }] });
  assert.equal((await exchange(t, gateway.port, handshake)).status, 503);
});

test('a request that waits behind another finds its key and plan as they were when it came', async (t) => {
  const gateway = alone;
  const upstream = await beginAnew(t, gateway);
  const answers: ServerResponse[] = [];
  upstream.handler = (_request, res) => void answers.push(res);
  const client = await openRaw(t, gateway.port);
  client.write(get('/v1/first'));
  await until(() => answers.length === 1);
  client.write(get('/v1/second'));
  await until(async () => (await gateway.inFlight()) === 2);
  await reload(gateway, { plans: { gold: {} }, keys: [{ id: 'demo', plan: 'gold', secret: demoKey }] });
  answers[0]?.end('one');
  await until(() => answers.length === 2);
  answers[1]?.end('two');
  assert.deepEqual(
    (await client.responses(2)).map(({ status }) => status),
    [200, 200],
  );
});

test('units that are held ahead of a plan that did not change are spent on', async (t) => {
  const plans = { many: { quotas: [{ name: 'all', limit: 100_000, per: 'month' }] } };
  const keys = [{ id: 'many', plan: 'many', secret: 'k-many' }];
  const gateway = alone;
  await beginAnew(t, gateway, { plans, keys });
  const ask = (): Promise<number> => statusOf(t, gateway, '/v1/a', 'k-many');
  // On a slow machine a key may rest for the second after which its units go back; those of another plan are never spent.
  await until(async () => {
    for (let at = 0; at < 20; at += 1) assert.equal(await ask(), 200);
    await reload(gateway, { errors: { key_invalid: { message: 'Who?' } } });
    const before = await drawsOf(gateway);
    assert.equal(await ask(), 200);
    return (await drawsOf(gateway)) === before;
  });
});

test('usage is kept, and another limit holds at once', async (t) => {
  const gateway = alone;
  await beginAnew(t, gateway);
  const few = async (): Promise<number> => statusOf(t, gateway, '/v1/a', 'k-of-a-quota');
  assert.deepEqual([await few(), await few(), await few(), await few()], [200, 200, 200, 429]);
  await reload(gateway, limited(5));
  assert.deepEqual([await few(), await few(), await few()], [200, 200, 429]);
  await reload(gateway, limited(2));
  assert.equal(await few(), 429);
});

test('a rate is counted on, also where the plan changes otherwise', async (t) => {
  const gateway = alone;
  await beginAnew(t, gateway, slow());
  const ask = (): Promise<number> => statusOf(t, gateway, '/v1/a');
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429]);
  await reload(gateway, slow({ concurrency: 5 }));
  assert.equal(await ask(), 429);
});

test('readiness is that of the upstreams of now', async (t) => {
  const gateway = alone;
  const there = await startRecordingUpstream(t);
  const gone = await beginAnew(t, gateway);
  await gone.close();
  await until(async () => (await gateway.readiness()).status === 503);
  await reload(gateway, { upstreams: { recognition: { targets: [there.url] } } });
  await until(async () => (await gateway.readiness()).status === 200);
});

test('a reload is in force in all workers when the log says so, in one that was held up too', async (t) => {
  const gateway = leading;
  await beginAnew(t, gateway);
  const before = countLines(gateway, taken);
  const [held] = workersOf(gateway);
  process.kill(held!, 'SIGSTOP');
  t.after(() => process.kill(held!, 'SIGCONT'));
  const done = reload(gateway, { keys: [{ id: 'new', plan: 'free', secret: 'k-new' }] });
  // The other has it long before. Connections that are dealt to the one that is held up are not answered.
  await until(async () => {
    const client = await openRaw(t, gateway.port);
    client.write(get('/v1/a', 'k-new'));
    await until(() => client.received().length > 0, { within: 300 }).catch(() => undefined);
    return client.received().includes(' 200 ');
  });
  assert.equal(countLines(gateway, taken), before);
  process.kill(held!, 'SIGCONT');
  await done;
  for (let at = 0; at < 8; at += 1) assert.equal(await statusOf(t, gateway, '/v1/a'), 401);
});

test('a worker that comes later serves by the configuration of now', async (t) => {
  const gateway = leading;
  await beginAnew(t, gateway);
  await reload(gateway, { routes: [{ path: '/v1/new', methods: ['GET'], body: 'none' }] });
  for (const pid of workersOf(gateway)) process.kill(pid, 'SIGKILL');
  await until(() => workersOf(gateway).length === 4);
  for (let at = 0; at < 6; at += 1) assert.equal(await statusOf(t, gateway, '/v1/new'), 200);
});

for (const gateway of [alone, leading]) {
  const title = gateway === alone ? 'one process' : 'two workers';
  test(`a gateway that was reloaded many times stops as any other, once a change that is at work is done: ${title}`, async (t) => {
    await beginAnew(t, gateway);
    const ask = await createAdminClient(gateway.adminUrl, token);
    const locker = sql(join(gateway.folder, 'gatehouse.db'), 'BEGIN IMMEDIATE');
    t.after(() => locker.isOpen && locker.close());
    const change = ask('POST', '/v1/keys', { body: { id: 'last', plan: 'free' } });
    // What comes later is answered by then, so the change waits for the lock.
    await gateway.metrics();
    const ended = gateway.stop();
    await until(() => countLines(gateway, 'stopping') === 1);
    const reloads = countLines(gateway, taken);
    gateway.child.kill('SIGHUP');
    await until(async () => (await refuses(gateway.port)) && !workersOf(gateway).some(lives));
    locker.close();
    assert.equal((await change).status, 201);
    assert.equal((await ended).code, 0);
    assert.equal(countLines(gateway, taken), reloads, 'nothing is read anew while it stops');
  });
}
