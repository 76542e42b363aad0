import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startGateway } from '../helpers/start-gateway.ts';
import type { LogLine } from '../helpers/start-gateway.ts';

const key = 'sk-live-3f9d1c7be2a84650';
const adminToken = 'admin-token-8c2e51f0d7';
const scene = { after };
const upstream = await startRecordingUpstream(scene, ({ target }, res) => {
  if (target.startsWith('/v1/broken')) res.socket?.end('HTTP/1.1 999 nonsense\r\n\r\n');
  else res.end('fine');
});
const gateway = await startGateway(
  scene,
  {
    keys: [{ id: 'demo', plan: 'free', secret: key }],
    admin: { listen: '127.0.0.1:0', token: adminToken },
    log: { level: 'trace', format: 'json' },
    routes: [
      { name: 'anything', path: '/v1/*', methods: ['GET', 'POST'], body: { any: { maxSize: '1KB' } } },
      {
        name: 'object',
        path: '/v1/json',
        methods: ['POST'],
        body: { json: { schema: { type: 'object', properties: { secret: { type: 'number' } } } } },
      },
    ],
  },
  { upstream: upstream.url },
);
const line = (path: string): Promise<LogLine> =>
  until(() => gateway.logs().find((log) => log['path'] === path), { what: `the log line of ${path}` });

test('a request leaves one line with these fields and values, and no others', async (t) => {
  const bytes = requestBytes(
    'POST /v1/counted?q=hidden',
    [
      ['apiKey', key],
      ['User-Agent', 'tester/1.0 "x"\t'],
      ['Cookie', 'hidden'],
    ],
    'hello',
  );
  const answer = await exchange(t, gateway.port, bytes);
  const { time, ms, upstreamMs, ...rest } = await line('/v1/counted');
  assert.deepEqual(rest, {
    level: 'info',
    requestId: answer.headers['x-request-id'],
    keyId: 'demo',
    plan: 'free',
    route: 'anything',
    method: 'POST',
    path: '/v1/counted',
    status: 200,
    bytesIn: 5,
    bytesOut: 4,
    upstream: 'recognition',
    client: '127.0.0.1',
    userAgent: 'tester/1.0 "x"',
    msg: 'answered',
  });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Number(ms) >= Number(upstreamMs) && Number(upstreamMs) > 0);
  assert.equal(gateway.logs().filter(({ path }) => path === '/v1/counted').length, 1);
});

test('a refused request leaves one line that says why, and a user agent is cut to size', async (t) => {
  await exchange(t, gateway.port, requestBytes('GET /v1/refused', [['User-Agent', 'u'.repeat(5000)]]));
  const { time, ms, requestId, userAgent, ...rest } = await line('/v1/refused');
  assert.deepEqual(rest, {
    level: 'info',
    method: 'GET',
    path: '/v1/refused',
    status: 401,
    refusal: 'key_missing',
    bytesIn: 0,
    bytesOut: 0,
    client: '127.0.0.1',
    msg: 'refused',
  });
  assert.equal(String(userAgent).length, 256);
  assert.ok(time !== undefined && ms !== undefined && requestId !== undefined);
});

test('line breaks and quotes of a client cannot forge a line', async (t) => {
  const before = gateway.logs().length;
  const answer = await exchange(
    t,
    gateway.port,
    requestBytes('GET /v1/forge%0A%22', [
      ['apiKey', key],
      ['User-Agent', '"}\x85{"level":"fatal"}'],
    ]),
  );
  assert.ok(answer.status > 0);
  await until(() => gateway.logs().length > before);
  assert.equal(
    gateway.logs().some(({ level }) => level === 'fatal'),
    false,
  );
});

test('a key or a token in whatever place of a request shows up in no log, metric, error or file', async (t) => {
  const auth: [string, string] = ['apiKey', key];
  const json: [string, string] = ['Content-Type', 'application/json'];
  const calls: Buffer[] = [
    requestBytes('GET /v1/x', [auth]),
    requestBytes(`GET /v1/x?apiKey=${key}`, [auth]),
    requestBytes(`GET /v1/x?apiKey=${key}`),
    requestBytes('GET /v1/x', [['Authorization', `Bearer ${key}`]]),
    requestBytes('GET /v1/x', [
      ['X-Api-Key', key],
      ['Cookie', `k=${key}`],
      ['Referer', `http://x/${key}`],
      auth,
    ]),
    requestBytes('GET /v1/x', [['apiKey', `${key}x`]]),
    requestBytes('GET /v1/x', [auth, auth]),
    requestBytes('GET /v1/x', [auth, ['X-Forwarded-For', key], ['X-Request-Id', key], ['Forwarded', key]]),
    requestBytes('GET /v1/x', [auth, ['Host', key.replaceAll('-', '_') + key]]),
    requestBytes('GET /v1/x', [auth, ['Expect', key]]),
    requestBytes('GET /v1/x', [auth, ['Transfer-Encoding', key]]),
    requestBytes('GET /v1/x', [auth, ['Content-Length', key]]),
    requestBytes('GET /v1/broken', [auth]),
    requestBytes('POST /v1/x', [auth], key),
    requestBytes('POST /v1/x', [auth], key.repeat(100)),
    requestBytes('POST /v1/json', [auth, json], JSON.stringify({ secret: key })),
    requestBytes('POST /v1/json', [auth, json], `{"${key}": 1, "${key}": 2}`),
    requestBytes('POST /v1/json', [auth, json], key),
    requestBytes('POST /v1/json', [auth, ['Content-Type', key]], '{}'),
    requestBytes('POST /v1/json', [auth, json, ['Content-Encoding', key]], '{}'),
    requestBytes(`${key} /v1/x`, [auth]),
    Buffer.from(`GET /v1/x HTTP/1.1\r\nHost: x\r\napiKey: ${key}\r\nbad header ${key}\r\n\r\n`),
    Buffer.from(`GET /v1/x HTTP/1.1\r\nHost: x\r\napiKey: ${key}\x00\r\n\r\n`),
    Buffer.from(`${key}\r\n\r\n`),
    Buffer.from(`GET /v1/x HTTP/1.1\r\nHost: x\r\napiKey: ${key}\r\nX: ${'v'.repeat(40_000)}\r\n\r\n`),
  ];
  const answers: string[] = [];
  for (const bytes of calls) {
    const client = await openRaw(t, gateway.port);
    client.write(bytes);
    await client.responses(1);
    answers.push(client.received().toString('latin1'));
    client.socket.destroy();
  }
  for (const headers of [
    { authorization: `Bearer ${adminToken}` },
    { authorization: `Bearer ${key}` },
    { apiKey: key },
  ]) {
    const response = await fetch(`${gateway.adminUrl}/metrics?token=${adminToken}`, { headers });
    answers.push(await response.text());
  }
  const metrics = await (
    await fetch(`${gateway.adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })
  ).text();
  assert.match(metrics, /gatehouse_requests_total/);
  await gateway.stop();
  const files = readdirSync(gateway.folder)
    .filter((file) => file !== 'gateway.yaml')
    .map((file) => readFileSync(join(gateway.folder, file), 'latin1'));
  for (const [sink, text] of Object.entries({
    log: gateway.logText(),
    metrics,
    answers: answers.join('\n'),
    files: files.join('\n'),
  })) {
    for (const secret of [key, adminToken]) {
      const at = text.indexOf(secret);
      assert.equal(at, -1, `${sink}: ${text.slice(Math.max(0, at - 200), at + 60)}`);
    }
  }
  assert.ok(files.length > 0);
});
