import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commandHere } from '../helpers/command-here.ts';
import { until } from '../helpers/poll.ts';
import { searchMemory } from '../helpers/process-memory.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { startGateway, type LogLine } from '../helpers/start-gateway.ts';

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
const others = {
  open: 'a-key-with-a-long-name',
  key: 'static-5b1f7c0e93d8',
  token: 'operator-44d0e6a7b912',
  password: 'store-password-71c0a5e94d',
};
const redis = await startRedisServer(scene, { args: ['--requirepass', others.password] });
/** Has workers, and a store with a password. */
const leading = await startGateway(
  scene,
  {
    keys: [{ id: others.open, plan: 'free', secret: others.key }],
    admin: { listen: '127.0.0.1:0', token: others.token },
    store: redis.url.replace('//', `//:${others.password}@`),
    workers: 2,
  },
  { env: { DEBUG: '*' } },
);
const line = (path: string): Promise<LogLine> =>
  until(() => gateway.logs().find((log) => log['path'] === path), { what: `the log line of ${path}` });

// The first of all, because requests bring the key to it again.
test('what is secret in the file soon leaves the memory of the process that read it', async () => {
  const find = searchMemory(leading.pid, [others.open]);
  await until(() => find() === others.open, { what: 'a memory with what is no secret' });
  for (const [{ pid }, ...hidden] of [
    [gateway, key, adminToken],
    [leading, others.key, others.token],
  ] as const) {
    const search = searchMemory(pid, hidden);
    await until(() => search() === undefined, { what: `a memory without ${hidden.join(' and ')}` });
  }
});

test('a request leaves one line with these fields and values, and no others', async (t) => {
  const bytes = requestBytes(
    'POST /v1/counted?q=hidden',
    [
      ['apiKey', key],
      ['User-Agent', 'tester/1.0 "x"\t'],
      ['Cookie', 'hidden'],
      ['Traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
      ['Tracestate', 'vendor=hidden'],
    ],
    'hello',
  );
  const answer = await exchange(t, gateway.port, bytes);
  const { time, ms, upstreamMs, ...rest } = await line('/v1/counted');
  assert.deepEqual(rest, {
    level: 'info',
    requestId: answer.headers['x-request-id'],
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
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

test('what had come of a JSON body is counted when the rest does not come', async (t) => {
  const raw = await openRaw(t, gateway.port);
  const head = requestBytes('POST /v1/json?half', [
    ['apiKey', key],
    ['Content-Type', 'application/json'],
    ['Content-Length', '9'],
    ['Expect', '100-continue'],
  ]);
  raw.write(head);
  await raw.receivedUntil((bytes) => bytes.includes('100 Continue'));
  raw.socket.end('{"a"');
  const left = await until(() => gateway.logs().find(({ refusal }) => refusal === 'client_gone'));
  assert.equal(left['bytesIn'], 4);
});

test('line breaks, quotes and terminal controls of a client cannot forge a line', async (t) => {
  const before = gateway.logs().length;
  const answer = await exchange(
    t,
    gateway.port,
    requestBytes('GET /v1/forge%0A%22', [
      ['apiKey', key],
      ['User-Agent', '"}\x85{"level":"fatal"}\x9b31m'],
    ]),
  );
  assert.ok(answer.status > 0);
  await until(() => gateway.logs().length > before);
  assert.equal(
    gateway.logs().some(({ level }) => level === 'fatal'),
    false,
  );
  assert.doesNotMatch(gateway.logText(), /[\x80-\x9f]/);
});

test('the password of a store shows up in no log, even where DEBUG asks libraries what they do', async () => {
  await leading.stop();
  assert.ok(leading.logs().some(({ msg }) => msg === 'stopped'));
  assert.ok(!leading.logText().includes(others.password));
});

test('a key in whatever place of the command line shows up in no complaint about it', async () => {
  const config = ['--config', gateway.configFile];
  const lines = [
    [key],
    ['keys', key],
    ['usage', key],
    ['check', key],
    ['check', `-${key}`],
    ['check', `--${key}`],
    ['check', `--key=${key}`],
    ['completion', key],
    ['keys', 'verify', key],
    ['keys', 'verify', `two\nlines ${key}'`],
    ['keys', 'list', '--limit', key],
    ['keys', 'update', 'demo', '--clear', key],
    ['keys', 'import', key, ...config],
    ['keys', 'create', '--plan', key, ...config],
    ['keys', 'show', key, ...config],
    ['usage', 'set', 'demo', '--quota', 'monthly', '--used', key],
    ['usage', 'set', 'demo', '--quota', key, '--used', '1', ...config],
  ];
  const runs = await Promise.all(lines.map((words) => commandHere(words)));
  for (const [at, { code, stdout, stderr }] of runs.entries()) {
    assert.ok(code !== 0 && stderr !== '', `${lines[at]?.join(' ')}: ${code}`);
    assert.ok(!(stdout + stderr).includes(key), stderr);
  }
});

test('a key of ours that somebody puts into the path or the user agent is left out of the log', async (t) => {
  const made = await askAdmin('POST', '/v1/keys', '{"plan":"free","id":"astray"}');
  const { secret } = JSON.parse(made.text) as { secret: string };
  const agent = `${'a'.repeat(240)}${secret}`;
  const headers: [string, string][] = [
    ['apiKey', secret],
    ['User-Agent', agent],
  ];
  const answer = await exchange(t, gateway.port, requestBytes(`GET /v1/${secret}/astray`, headers));
  assert.equal(answer.status, 200);
  const head = secret.slice(0, secret.indexOf('_') + 1);
  const { userAgent } = await line(`/v1/${head}…/astray`);
  assert.equal(userAgent, `${'a'.repeat(240)}${head}…`);
  assert.ok(!gateway.logText().includes(secret.slice(head.length, head.length + 5)));
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
  const made = await askAdmin('POST', '/v1/keys', '{"plan":"free","id":"made"}');
  const { secret } = JSON.parse(made.text) as { secret: string };
  answers.push(...(await misplaceOnAdmin([key, adminToken, secret])));
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
    for (const hidden of [key, adminToken, secret]) {
      const at = text.indexOf(hidden);
      assert.equal(at, -1, `${sink}: ${text.slice(Math.max(0, at - 200), at + 60)}`);
    }
  }
  assert.ok(files.length > 0);
});

/** Puts each secret wherever it could be put by mistake, on the second listener, and returns all that is answered. */
async function misplaceOnAdmin(secrets: readonly string[]): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const misplaced of secrets) {
    const quoted = JSON.stringify(misplaced);
    const shapes = [misplaced, quoted, `{${quoted}:1}`, `{${quoted}:1,${quoted}:2}`];
    const inFields = (before: string, fields: readonly string[]): readonly string[] => [
      ...shapes,
      ...fields.flatMap((field) =>
        [quoted, `[${quoted}]`, `{${quoted}:${quoted}}`].map((value) => `{${before}"${field}":${value}}`),
      ),
    ];
    const keyFields = ['plan', 'id', 'scopes', 'networks', 'labels', 'quotas', 'notBefore', 'enabled'];
    // What is an id or a label is told to everybody.
    const keyBodies = inFields('"plan":"free",', keyFields).filter(
      (body) => !body.includes(`"id":${quoted}`) && !body.includes('"labels":{'),
    );
    const asked: Asked[] = [
      ...keyBodies.map((body): Asked => ['POST', '/v1/keys', body]),
      ...keyBodies.map((body): Asked => ['PATCH', '/v1/keys/made', body]),
      ...inFields('', ['overlap', 'more']).map((body): Asked => ['POST', '/v1/keys/made/rotate', body]),
      ...inFields('"secret":"x",', ['from', 'path', 'method']).map((body): Asked => [
        'POST',
        '/v1/verify',
        body,
      ]),
      ['POST', '/v1/verify', JSON.stringify({ secret: misplaced })],
      ['POST', '/v1/verify', JSON.stringify({ secret: misplaced, from: misplaced })],
      ['GET', `/v1/keys?cursor=${misplaced}!`],
      ['GET', `/v1/keys?limit=${misplaced}`],
      ['GET', `/v1/keys?${misplaced}=1`],
      ['GET', `/v1/audit?cursor=${misplaced}`],
      ['GET', `/v1/audit?key=${misplaced}`],
      ['GET', `/${misplaced}`],
      ['GET', `/v1/${misplaced}`],
      ['GET', `/v1/keys/${misplaced}`],
      ['POST', `/v1/import`, `${misplaced}\n${misplaced}\n`, { 'content-type': 'text/csv' }],
      ['POST', `/v1/import`, `secret,name\n${misplaced}\n"${misplaced}\n`, { 'content-type': 'text/csv' }],
      ['POST', `/v1/import`, `{${misplaced}\n{"${misplaced}":1}`, { 'content-type': 'application/jsonl' }],
      ...['/rotate', '/revoke', '/usage/reset', ''].map((at): Asked => [
        at === '' ? 'PATCH' : 'POST',
        `/v1/keys/${misplaced}${at}`,
        at === '/rotate' ? '{"overlap":"1h"}' : at === '/revoke' ? '' : '{}',
      ]),
      ['GET', `/v1/keys/${misplaced}/usage`],
      ['POST', '/v1/keys/made/usage/set', JSON.stringify({ quota: misplaced, used: misplaced })],
      ['POST', '/v1/keys/made/usage/set', JSON.stringify({ quota: misplaced, used: 1 })],
      ['PATCH', '/v1/keys/made', '{}', { 'if-match': misplaced }],
      ['POST', '/v1/keys', '{}', { 'idempotency-key': misplaced }],
      ['POST', '/v1/keys', '{}', { 'content-type': misplaced }],
      ['GET', '/v1/keys', undefined, { authorization: `Bearer ${misplaced}x` }],
      ['GET', '/v1/keys', undefined, { authorization: misplaced }],
    ];
    for (const [method, path, body, headers] of asked)
      answers.push((await askAdmin(method, path, body, headers)).all);
  }
  for (const path of ['/v1/keys', '/v1/audit']) answers.push((await askAdmin('GET', path)).all);
  return answers;
}

type Asked = readonly [
  method: string,
  path: string,
  body?: string | undefined,
  headers?: Readonly<Record<string, string>>,
];

async function askAdmin(
  method: string,
  path: string,
  body?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly text: string; readonly all: string }> {
  const answer = await fetch(gateway.adminUrl + path, {
    method,
    headers: {
      // A silent connection is ended after some seconds, which may be when it is taken again.
      connection: 'close',
      authorization: `Bearer ${adminToken}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  assert.ok(answer.status < 500 && text.startsWith('{'), `${method} ${path}: ${answer.status} ${text}`);
  return { text, all: `${[...answer.headers].join('\n')}\n${text}` };
}
