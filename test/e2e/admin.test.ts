import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

const scene = { after };
const token = 'a-token-of-enough-letters';
const upstream = await startRecordingUpstream(scene);
const other = await startRecordingUpstream(scene);
/** Who cannot be reached here refuses at once, and who can may be late. */
const timeouts = { connect: '10s' };
const gateway = await startGateway(scene, {
  admin: { token },
  upstreams: {
    recognition: { targets: [upstream.url, 'http://127.0.0.1:1'], timeouts },
    other: { targets: [other.url], timeouts },
  },
  routes: [
    { name: 'all', path: '/v1/*', methods: ['GET', 'POST'] },
    { name: 'other', path: '/other/*', methods: ['GET'], upstream: 'other' },
  ],
  errors: { request_malformed: { status: 500 } },
});
/** A silent connection is ended after some seconds, which may be when it is taken again. */
const connection = 'close';

test('livez and readyz need no token, and a ready gateway has nothing to tell', async () => {
  const livez = await fetch(`${gateway.adminUrl}/livez`, { headers: { connection } });
  assert.deepEqual([livez.status, await livez.json()], [200, { status: 'live' }]);
  await until(async () => (await gateway.readiness()).reasons.length === 0);
  assert.deepEqual(await gateway.readiness(), { status: 200, reasons: [] });
});

/** What is said of targets that refuse connections. */
function unreached(name: string, ...targets: readonly string[]): string {
  const causes = targets.map((url) => `connect ECONNREFUSED ${new URL(url).host}`);
  return `no target of upstream ${name} can be reached: ${causes.join('; ')}`;
}

test('an upstream that is gone is named, with the reason; the gateway is ready as long as one upstream can be reached', async () => {
  await other.close();
  const reason = unreached('other', other.url);
  await until(async () => (await gateway.readiness()).reasons.length > 0);
  assert.deepEqual(await gateway.readiness(), { status: 200, reasons: [reason] });
  await upstream.close();
  await until(async () => (await gateway.readiness()).status === 503);
  assert.deepEqual(await gateway.readiness(), {
    status: 503,
    reasons: [unreached('recognition', upstream.url, 'http://127.0.0.1:1'), reason],
  });
  assert.equal((await fetch(`${gateway.adminUrl}/livez`, { headers: { connection } })).status, 200);
  await Promise.all([upstream.reopen(), other.reopen()]);
  await until(async () => (await gateway.readiness()).status === 200);
});

for (const { name, headers } of [
  { name: 'no token', headers: {} },
  { name: 'another token', headers: { authorization: 'Bearer another-token-of-letters' } },
  { name: 'a beginning of the token', headers: { authorization: `Bearer ${token.slice(0, -1)}` } },
  { name: 'another scheme', headers: { authorization: `Basic ${token}` } },
  { name: 'the key of a developer', headers: { apiKey: demoKey } },
]) {
  test(`metrics are refused with ${name}`, async () => {
    for (const path of ['/metrics', '/unknown']) {
      const response = await fetch(gateway.adminUrl + path, { headers: { connection, ...headers } });
      assert.equal(response.status, 401);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer /);
      assert.deepEqual(await response.json(), {
        error: 'A valid admin token is required',
        code: 'token_required',
      });
    }
  });
}

test('nothing of the admin listener is on the public port', async (t) => {
  for (const path of ['/livez', '/readyz', '/metrics', '/', '/console/page.js']) {
    const bearer = ['Authorization', `Bearer ${token}`] as const;
    const keyed = requestBytes(`GET ${path}`, [['apiKey', demoKey], bearer]);
    assert.equal((await exchange(t, gateway.port, keyed)).status, 404, path);
    assert.equal((await exchange(t, gateway.port, requestBytes(`GET ${path}`, [bearer]))).status, 401, path);
  }
});

test('metrics tell what happened, and no client can make a series', async (t) => {
  const get = (target: string, headers: [string, string][] = []): Promise<unknown> =>
    exchange(t, gateway.port, requestBytes(target, headers));
  await get('GET /v1/x', [['apiKey', demoKey]]);
  await get('GET /v1/x', [['apiKey', 'wrong']]);
  await get('PUT /v1/x', [['apiKey', demoKey]]);
  await get('GET /nowhere', [['apiKey', demoKey]]);
  const before = seriesOf(await gateway.metrics());
  for (let i = 0; i < 20; i += 1) {
    await get(`GET /v1/x${i}?y=${i}`, [
      ['apiKey', demoKey],
      [`X-${i}`, `${i}`],
      ['User-Agent', `u${i}`],
      ['Host', `h${i}`],
    ]);
    await get(`GET /v1/x${i}`, [['apiKey', `wrong${i}`]]);
    await get(`GET /nowhere${i}`, [['apiKey', demoKey]]);
  }
  const text = await gateway.metrics();
  assert.deepEqual(seriesOf(text), before);
  for (const row of [
    /^gatehouse_requests_total\{route="all",status="2xx",refusal="none"\} 21$/m,
    /^gatehouse_requests_total\{route="none",status="4xx",refusal="key_invalid"\} 21$/m,
    /^gatehouse_request_duration_seconds_count\{route="all"\} \d+$/m,
    /^gatehouse_upstream_duration_seconds_count\{upstream="recognition"\} 21$/m,
    /^gatehouse_store_duration_seconds_count\{operation="find_key"\} \d+$/m,
    /^gatehouse_requests_in_flight 0$/m,
    /^process_resident_memory_bytes \d+$/m,
  ]) {
    assert.match(text, row);
  }
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const told = [...page.matchAll(/^\| `(gatehouse_\w+)` /gm)].map(([, name]) => name);
  assert.ok(told.length > 20);
  assert.deepEqual(
    told.filter((name) => !text.includes(`# TYPE ${name} `)),
    [],
  );
});

test('metrics count client connections, clients that left as 499, and upstream failures by kind', async (t) => {
  const clients = await Promise.all([
    openRaw(t, gateway.port),
    openRaw(t, gateway.port),
    openRaw(t, gateway.port),
  ]);
  await until(async () => /^gatehouse_connections 3$/m.test(await gateway.metrics()));
  for (const client of clients) client.socket.destroy();
  await until(async () => /^gatehouse_connections 0$/m.test(await gateway.metrics()));

  upstream.handler = () => undefined;
  const seen = upstream.requests.length;
  const leaver = await openRaw(t, gateway.port);
  leaver.write(requestBytes('GET /v1/left', [['apiKey', demoKey]]));
  await until(() => upstream.requests.length > seen);
  leaver.socket.destroy();
  const left = /^gatehouse_requests_total\{route="all",status="4xx",refusal="client_gone"\} 1$/m;
  await until(async () => left.test(await gateway.metrics()));

  upstream.handler = (_, res) => void res.socket?.destroy();
  await exchange(t, gateway.port, requestBytes('POST /v1/broken', [['apiKey', demoKey]]));
  assert.match(
    await gateway.metrics(),
    /^gatehouse_upstream_errors_total\{upstream="recognition",kind="broken"\} 1$/m,
  );
});

test('beside what is bounded stands the most that the configuration allows', async () => {
  const page = await gateway.metrics();
  const { limits, spool } = loadConfig(gateway.configFile, {});
  for (const [name, max] of [
    ['connections_max', limits.connections],
    ['requests_in_flight_max', limits.inFlight],
    ['body_memory_max_bytes', limits.bodyMemory],
    ['spool_memory_max_bytes', spool.memoryMax],
    ['spool_disk_max_bytes', spool.diskMax],
  ] as const) {
    assert.ok(page.includes(`\ngatehouse_${name} ${max}\n`), name);
  }
});

test('a request that cannot be parsed is counted under the status that it was answered with', async (t) => {
  const client = await openRaw(t, gateway.port);
  client.write('nonsense\r\n\r\n');
  const [answer] = await client.responses(1);
  assert.equal(answer?.status, 500);
  assert.match(
    await gateway.metrics(),
    /^gatehouse_requests_total\{route="none",status="5xx",refusal="request_malformed"\} 1$/m,
  );
});

function seriesOf(text: string): string[] {
  return text
    .split('\n')
    .flatMap((row) => (row.startsWith('gatehouse_') ? [row.slice(0, row.lastIndexOf(' '))] : []));
}
