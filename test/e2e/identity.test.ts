import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { createKeyFormat } from '../../src/keys/key-format.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream, type RecordedRequest } from '../helpers/recording-upstream.ts';
import { reload } from '../helpers/reload.ts';
import { demoKey, startGateway, type Gateway } from '../helpers/start-gateway.ts';

const scene = { after };
const upstream = await startRecordingUpstream(scene);
const target = `127.0.0.1:${upstream.port}`;
const routes = [
  { path: '/v1/*', methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], body: { any: {} } },
];
/** Its callers have their key in `apiKey`, and it stays here. */
const plain = await startGateway(scene, { routes }, { upstream: upstream.url });
/** Its callers have their key in `Authorization`, and it is forwarded. */
const open = await startGateway(
  scene,
  {
    routes,
    listen: '[::]:0',
    trustProxy: ['127.0.0.1', '::1', '10.0.0.0/8', '2001:db8::/32'],
    forwarded: true,
    auth: { header: 'authorization', forwardKey: true },
    upstreams: { recognition: { preserveHost: true } },
  },
  { upstream: upstream.url },
);
/** Has its key headers changed by some tests. */
const changing = await startGateway(
  scene,
  { routes, auth: { header: 'Authorization' }, log: { level: 'trace' } },
  { upstream: upstream.url },
);

type Pairs = readonly (readonly [string, string])[];

const openCredentials = `bearer ${demoKey}`;

interface Call {
  readonly line?: string;
  readonly headers?: Pairs;
  readonly body?: string;
  readonly host?: string;
  /** The address of the client. */
  readonly from?: string;
}

/** What the upstream saw of one call. */
async function seen(
  t: TestContext,
  gateway: Gateway,
  { line = 'GET /v1/x', headers = [], body = '', host = '127.0.0.1', from }: Call,
) {
  const before = upstream.requests.length;
  const key =
    gateway === open ? (['Authorization', openCredentials] as const) : (['apiKey', demoKey] as const);
  const bytes = requestBytes(line, [key, ...headers], body);
  const client = await openRaw(t, gateway.port, from === undefined ? { host } : { host, from });
  client.write(bytes);
  const [answer] = await client.responses(1);
  assert.equal(answer?.status, 200);
  assert.equal(upstream.requests.length, before + 1);
  return { request: upstream.requests.at(-1) as RecordedRequest, answer };
}

const pairsOf = ({ rawHeaders }: RecordedRequest): [string, string][] =>
  rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? ''] as [string, string]] : []));

test('the upstream sees exactly what passes, and who calls, in this order', async (t) => {
  const { request, answer } = await seen(t, plain, {
    line: 'POST /v1/a%20b/?q=%00&q=2',
    headers: [
      ['Content-Type', 'text/plain'],
      ['Accept', 'a/b'],
      ['X-Two', '1'],
      ['x-two', '2'],
      ['Authorization', 'Basic x'],
    ],
    body: 'hello',
  });
  const id = answer?.headers['x-request-id'] ?? '';
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(request.target, '/v1/a%20b/?q=%00&q=2');
  assert.deepEqual(pairsOf(request), [
    ['host', target],
    ['connection', 'keep-alive'],
    ['Content-Type', 'text/plain'],
    ['Accept', 'a/b'],
    ['X-Two', '1'],
    ['x-two', '2'],
    ['Authorization', 'Basic x'],
    ['x-gatehouse-key-id', 'demo'],
    ['x-gatehouse-plan', 'free'],
    ['x-request-id', id],
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-host', 'gateway.test'],
    ['x-forwarded-proto', 'http'],
    ['content-length', '5'],
  ]);
  assert.equal(request.body.toString(), 'hello');
});

test('a key in Authorization is taken with and without Bearer, of which refusals tell, and both stay here and out of the log', async (t) => {
  const gateway = changing;
  for (const value of [`Bearer ${demoKey}`, `BEARER ${demoKey}`, demoKey, `Basic ${demoKey}`, 'Bearer']) {
    const before = upstream.requests.length;
    const { status, body, headers } = await exchange(
      t,
      gateway.port,
      requestBytes('GET /v1/x', [['authorization', value]]),
    );
    if (value === 'Bearer') assert.match(body.toString(), /API key is required/);
    assert.equal(status, value.startsWith('Basic') || value === 'Bearer' ? 401 : 200);
    assert.equal(headers['www-authenticate'], status === 401 ? 'Bearer realm="gatehouse"' : undefined);
    const request = upstream.requests[before];
    assert.equal(request?.headers['authorization'], undefined);
    assert.equal(request !== undefined, status === 200);
  }
  await until(() => gateway.logs().filter((line) => line['path'] === '/v1/x').length === 5);
  assert.ok(!gateway.logText().includes(demoKey));
  // Where there is one alone nobody needs to be told.
  assert.ok(gateway.logs().every((line) => !('keyHeader' in line)));
});

/** A body that waits in memory, and one that streams. */
const lanes = ['', 'x'.repeat(100_000)];

test('of several key headers a request has one, which stays here, in any lane; with two it is refused, the log names the one, and neither key is in it', async (t) => {
  const gateway = changing;
  await reload(gateway, { auth: { header: ['apiKey', 'X-API-Key', 'Authorization'] } });
  const other = 'k-of-nobody';
  const cases: [status: number, error: string, keyHeader: string | undefined, ...headers: Pairs][] = [
    [200, '', 'apiKey', ['apiKey', demoKey]],
    [200, '', 'X-API-Key', ['x-api-KEY', demoKey]],
    [200, '', 'Authorization', ['Authorization', `Bearer ${demoKey}`]],
    [200, '', 'apiKey', ['apikey', demoKey], ['X_API_Key', other], ['X.Api.Key', other]],
    [401, 'Invalid API key', 'X-API-Key', ['X-API-Key', `Bearer ${demoKey}`]],
    [401, 'Invalid API key', undefined, ['apiKey', demoKey], ['X-API-Key', demoKey]],
    [401, 'Invalid API key', undefined, ['X-API-Key', other], ['apiKey', demoKey]],
    [401, 'Invalid API key', undefined, ['apiKey', demoKey], ['X-API-Key', '']],
    [401, 'Invalid API key', undefined, ['apiKey', ''], ['X-API-Key', demoKey]],
    [401, 'Invalid API key', undefined, ['apiKey', ''], ['X-API-Key', '']],
    [401, 'Invalid API key', undefined, ['X-API-Key', demoKey], ['Authorization', `Basic ${other}`]],
    [401, 'API key is required', undefined, ['X-API-Key', '']],
    [401, 'API key is required', undefined, ['Authorization', 'Bearer']],
    [401, 'API key is required', undefined, ['X_API_Key', demoKey]],
  ];
  for (const [status, error, keyHeader, ...headers] of cases) {
    for (const body of lanes) {
      const before = upstream.requests.length;
      const answer = await exchange(t, gateway.port, requestBytes('POST /v1/x', headers, body));
      const what = JSON.stringify(headers);
      assert.equal(answer.status, status, what);
      if (status === 401) assert.equal(answer.body.toString(), JSON.stringify({ error }), what);
      assert.equal(
        answer.headers['www-authenticate'],
        status === 401 ? 'Bearer realm="gatehouse"' : undefined,
      );
      assert.equal(upstream.requests.length, status === 401 ? before : before + 1, what);
      for (const { rawHeaders } of upstream.requests.slice(before)) {
        assert.doesNotMatch(
          rawHeaders.join('\n'),
          new RegExp(`${demoKey}|${other}|api.key|authorization`, 'i'),
        );
      }
      assert.equal((await gateway.lineOf(answer))['keyHeader'], keyHeader);
    }
  }
  assert.doesNotMatch(gateway.logText(), new RegExp(`${demoKey}|${other}`));
});

test('with forwardKey the upstream gets the one of several key headers that came, as it came', async (t) => {
  const gateway = changing;
  await reload(gateway, { auth: { header: ['X-API-Key', 'apiKey', 'Authorization'], forwardKey: true } });
  for (const [name, value] of [
    ['x-Api-key', demoKey],
    ['APIKEY', demoKey],
    ['authorization', openCredentials],
  ] as const) {
    for (const body of lanes) {
      const before = upstream.requests.length;
      const headers: Pairs = [
        [name, value],
        ['X_API_Key', 'of-nobody'],
      ];
      const { status } = await exchange(t, gateway.port, requestBytes('POST /v1/x', headers, body));
      assert.equal(status, 200);
      const request = upstream.requests[before] as RecordedRequest;
      const keys = pairsOf(request).filter(([one]) => /api.?key|authorization/i.test(one));
      assert.deepEqual(keys, [[name, value]]);
    }
  }
});

test('with forwardKey the upstream gets Authorization as it came', async (t) => {
  const { request } = await seen(t, open, {});
  assert.equal(request.headers['authorization'], openCredentials);
});

for (const { method, length } of [
  { method: 'GET', length: undefined },
  { method: 'OPTIONS', length: undefined },
  { method: 'DELETE', length: undefined },
  { method: 'POST', length: '0' },
  { method: 'PUT', length: '0' },
  { method: 'PATCH', length: '0' },
]) {
  test(`a ${method} without a body says so with Content-Length ${length ?? 'absent'}`, async (t) => {
    const { request } = await seen(t, plain, { line: `${method} /v1/x` });
    assert.equal(request.headers['content-length'], length);
    assert.equal(request.headers['transfer-encoding'], undefined);
  });
}

test('a chunked body reaches the upstream whole, with its length', async (t) => {
  const before = upstream.requests.length;
  const bytes = requestBytes(
    'DELETE /v1/x',
    [
      ['apiKey', demoKey],
      ['Transfer-Encoding', 'chunked'],
    ],
    '3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n',
  );
  assert.equal((await exchange(t, plain.port, bytes)).status, 200);
  const request = upstream.requests[before];
  assert.equal(request?.body.toString(), 'abcde');
  assert.equal(request.headers['content-length'], '5');
  assert.equal(request.headers['transfer-encoding'], undefined);
  assert.equal(request.headers['x-trailer'], undefined);
});

const forged: Pairs = [
  'X-Gatehouse-Key-Id x_gatehouse_key_id X.Gatehouse.Plan X!Gatehouse~Plan X-GATEHOUSE-ANYTHING',
  'X-Gatehouse-Owner x_gatehouse_owner',
  'X-Forwarded-For X_Forwarded_For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Prefix Forwarded',
  'X-Real-IP X_Real_IP X-Request-Id X_Request_Id Proxy X-Original-URL X-Rewrite-URL',
  'X-HTTP-Method-Override X_HTTP_METHOD X-Method-Override Proxy-Authorization Proxy-Connection Keep-Alive TE',
  'Trailer HTTP2-Settings Content_Type CONTENT.TYPE Content*Type Content_Encoding X-Nominated X.Named',
].flatMap((names) => names.split(' ').map((name) => [name, 'forged-value'] as const));

test('nothing that a client forges or that ends at the gateway is seen, and nothing that it nominates is taken away from us', async (t) => {
  const nominations =
    'X-Nominated, x_named, X-Gatehouse-Key-Id, X-Request-Id, X-Forwarded-For, Content-Length, Content-Type, Host, apiKey, close';
  const { request } = await seen(t, plain, {
    line: 'POST /v1/x',
    headers: [...forged, ['Connection', nominations], ['Content-Type', 'text/plain']],
    body: 'hello',
  });
  assert.doesNotMatch(JSON.stringify(request), /forged-value/);
  assert.doesNotMatch(JSON.stringify(request.rawHeaders), new RegExp(demoKey));
  assert.equal(request.headers['x-gatehouse-key-id'], 'demo');
  assert.equal(request.headers['x-forwarded-for'], '127.0.0.1');
  assert.equal(request.headers['content-type'], 'text/plain');
  assert.equal(request.headers['connection'], 'keep-alive');
});

const trusted: readonly {
  name: string;
  headers: Pairs;
  host?: string;
  expected: Record<string, string | undefined>;
}[] = [
  {
    name: 'no proxy spoke',
    headers: [],
    expected: {
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      forwarded: 'for=127.0.0.1;host="gateway.test";proto=http',
    },
  },
  {
    name: 'an IPv6 peer',
    headers: [],
    host: '::1',
    expected: { 'x-forwarded-for': '::1', forwarded: 'for="[::1]";host="gateway.test";proto=http' },
  },
  ...(['wss', 'ws'] as const).map((scheme) => ({
    name: `a proxy tells of a WebSocket by ${scheme}`,
    headers: [['X-Forwarded-Proto', scheme]] as const,
    expected: { 'x-forwarded-proto': scheme === 'wss' ? 'https' : 'http' },
  })),
  {
    name: 'a proxy tells of its client',
    headers: [
      ['X-Forwarded-For', '192.0.2.1'],
      ['X-Forwarded-Proto', 'https'],
      ['X-Forwarded-Host', 'api.test'],
    ],
    expected: {
      'x-forwarded-for': '192.0.2.1, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'api.test',
      forwarded: 'for=192.0.2.1;host="api.test";proto=https',
    },
  },
  {
    name: 'a list in which the client lies',
    headers: [['X-Forwarded-For', '6.6.6.6, 192.0.2.1, 10.1.1.1']],
    expected: {
      'x-forwarded-for': '6.6.6.6, 192.0.2.1, 10.1.1.1, 127.0.0.1',
      forwarded: 'for=192.0.2.1;host="gateway.test";proto=http',
    },
  },
  {
    name: 'lists in two headers',
    headers: [
      ['X-Forwarded-For', '192.0.2.1'],
      ['X-Forwarded-For', '10.1.1.1'],
    ],
    expected: {
      'x-forwarded-for': '192.0.2.1, 10.1.1.1, 127.0.0.1',
      forwarded: 'for=192.0.2.1;host="gateway.test";proto=http',
    },
  },
  {
    name: 'IPv6 clients behind IPv6 proxies',
    headers: [['X-Forwarded-For', '2001:db9::1, 2001:db8::5']],
    expected: { forwarded: 'for="[2001:db9::1]";host="gateway.test";proto=http' },
  },
  {
    name: 'a protocol and a host that would break out of Forwarded',
    headers: [
      ['X-Forwarded-Proto', 'https;for=6.6.6.6'],
      ['X-Forwarded-Host', 'a";for=6.6.6.6;x="'],
    ],
    expected: {
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'gateway.test',
      forwarded: 'for=127.0.0.1;host="gateway.test";proto=http',
    },
  },
  {
    name: 'a host that could not stand in Host',
    headers: [['X-Forwarded-Host', 'api.test:80:90']],
    expected: {
      'x-forwarded-host': 'gateway.test',
      forwarded: 'for=127.0.0.1;host="gateway.test";proto=http',
    },
  },
];

for (const { name, headers, host, expected } of trusted) {
  test(`of a trusted proxy is believed what can be: ${name}`, async (t) => {
    const { request } = await seen(t, open, host === undefined ? { headers } : { headers, host });
    for (const [header, value] of Object.entries(expected))
      assert.equal(request.headers[header], value, header);
    assert.equal(request.headers['host'], 'gateway.test');
  });
}

test('who is no trusted proxy is believed nothing, also where others are trusted', async (t) => {
  const headers: Pairs = [
    ['X-Forwarded-For', '203.0.113.7, 192.0.2.1'],
    ['X-Forwarded-Host', 'shop.example'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Request-Id', 'abc-123.DEF:4_5'],
  ];
  const { request, answer } = await seen(t, open, { headers, from: '127.0.0.2' });
  assert.equal(request.headers['x-forwarded-for'], '127.0.0.2');
  assert.equal(request.headers['x-forwarded-proto'], 'http');
  assert.doesNotMatch(request.rawHeaders.join('\n'), /203\.0\.113\.7|shop\.example/);
  assert.notEqual(answer?.headers['x-request-id'], 'abc-123.DEF:4_5');
});

for (const { name, gateway, id, kept } of [
  { name: 'a trusted proxy', gateway: open, id: 'abc-123.DEF:4_5', kept: true },
  { name: 'a trusted proxy that sends nonsense', gateway: open, id: 'a b<script>', kept: false },
  { name: 'a trusted proxy that sends a short one', gateway: open, id: 'short', kept: false },
  {
    name: 'a trusted proxy that sends a key',
    gateway: open,
    id: createKeyFormat('gh').create(),
    kept: false,
  },
  { name: 'a client', gateway: plain, id: 'abc-123.DEF:4_5', kept: false },
]) {
  test(`a request id from ${name} is ${kept ? 'kept' : 'replaced'}, the same in the answer, the log and for the upstream`, async (t) => {
    const { request, answer } = await seen(t, gateway, { headers: [['X-Request-Id', id]] });
    const given = answer?.headers['x-request-id'] ?? '';
    assert.equal(request.headers['x-request-id'], given);
    if (kept) assert.equal(given, id);
    else assert.match(given, /^[0-9a-f]{32}$/);
  });
}

test('the client of a request that cannot be read is written as that of any other', async (t) => {
  const raw = await openRaw(t, open.port);
  raw.write('BAD\r\n\r\n');
  await raw.receivedUntilClose();
  const line = await until(() => open.logs().find(({ refusal }) => refusal === 'request_malformed'));
  assert.equal(line['client'], '127.0.0.1');
});

test('who resets its connection at once is known by its address, or nothing is done for it', async (t) => {
  await until(async () => (await plain.metrics()).includes('gatehouse_connections 0\n'));
  const taken = await openRaw(t, plain.port);
  await until(async () => (await plain.metrics()).includes('gatehouse_connections 1\n'));
  plain.child.kill('SIGSTOP');
  const untaken = await openRaw(t, plain.port);
  for (const [raw, path] of [
    [taken, '/v1/taken'],
    [untaken, '/v1/untaken'],
  ] as const) {
    raw.write(requestBytes(`GET ${path}`, [['apiKey', demoKey]]));
    await until(() => raw.socket.writableLength === 0);
    raw.socket.resetAndDestroy();
  }
  plain.child.kill('SIGCONT');
  const told = (asked: string) =>
    until(() => plain.logs().find(({ path }) => path === asked), { what: asked });
  assert.equal((await told('/v1/taken'))['client'], '127.0.0.1');
  // By then all who came before have been taken.
  for (const path of ['/v1/later', '/v1/last'])
    await exchange(t, plain.port, requestBytes(`GET ${path}`, [['apiKey', demoKey]]));
  await told('/v1/last');
  assert.ok(!plain.logs().some(({ path }) => path === '/v1/untaken'));
  assert.ok(!upstream.requests.some(({ target: asked }) => asked === '/v1/untaken'));
});
