import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { freePort } from '../helpers/free-port.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRawUpstream, type RawScript } from '../helpers/raw-upstream.ts';
import { reload } from '../helpers/reload.ts';
import { demoKey, startGateway, type Yaml } from '../helpers/start-gateway.ts';

// A service may have another base path than the gateway: that is replaced, and not a byte of a path below it.

const scene = { after };
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const switched =
  'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';
/** Every request as it came, but for health checks. */
const arrived: string[] = [];
const record =
  (answer: RawScript): RawScript =>
  (socket, bytes, connection) => {
    const text = bytes.toString('latin1');
    if (!text.includes('User-Agent: gatehouse\r\n')) arrived.push(text);
    answer(socket, bytes, connection);
  };
const { url } = await startRawUpstream(
  scene,
  record((socket) => void socket.write(ok)),
);
const asked = new WeakSet<object>();
/** Closes a connection instead of answering its second request. */
const fickle = await startRawUpstream(
  scene,
  record((socket) => {
    if (asked.has(socket)) socket.destroy();
    else socket.write(ok);
    asked.add(socket);
  }),
);
const switching = await startRawUpstream(
  scene,
  record((socket) => void socket.write(switched)),
);
const checked = await startRawUpstream(scene, (socket) => void socket.write(ok));

const gone = `http://127.0.0.1:${await freePort()}`;
/** The one address that is trusted. */
const proxy = '127.0.0.2';
const body = { any: { maxSize: '1MB' } };
const methods = ['GET', 'POST'];

const named: Yaml = {
  basePath: '/a$b/c',
  trustProxy: [proxy],
  usage: { path: '/usage' },
  upstreams: {
    recognition: { targets: [url], basePath: undefined },
    same: { targets: [url], basePath: '/a$b/c' },
    stripped: { targets: [url], basePath: '/' },
    moved: { targets: [url], basePath: '/internal/v2' },
    either: { targets: [gone, url], basePath: '/' },
    fickle: { targets: [fickle.url], basePath: '/internal/v2' },
    switching: { targets: [switching.url], basePath: '/internal/v2' },
    checked: { targets: [checked.url], basePath: '/internal/v2', health: '/health' },
  },
  routes: [
    { path: '/', methods: ['GET'], upstream: 'stripped' },
    { path: '/', methods: ['DELETE'], upstream: 'moved' },
    { path: '/*', methods: ['GET'], upstream: 'stripped' },
    { path: '/v1/*', methods: ['GET'] },
    { path: '/same/*', methods: ['GET'], upstream: 'same' },
    { path: '/s/exact', methods: ['GET'], upstream: 'stripped' },
    { path: '/s/:id', methods: ['GET'], upstream: 'stripped' },
    { path: '/s/all/*', methods, upstream: 'stripped', body },
    { path: '/m/exact', methods: ['GET'], upstream: 'moved' },
    { path: '/m/:id', methods: ['GET'], upstream: 'moved' },
    { path: '/m/all/*', methods, upstream: 'moved', body },
    { path: '/e/*', methods, upstream: 'either', body },
    { path: '/f/*', methods: ['GET'], upstream: 'fickle' },
    { path: '/w/*', methods: ['GET'], upstream: 'switching', upgrade: 'websocket' },
  ],
};
const under = { recognition: { basePath: '/internal' } };
const exact: Yaml = {
  basePath: '/',
  upstreams: under,
  routes: [
    { path: '/', methods: ['GET'], upstream: 'recognition' },
    { path: '/v1/*', methods: ['GET'] },
  ],
};
const wildAtRoot: Yaml = {
  ...exact,
  routes: [{ path: '/*', methods: ['GET'], upstream: 'recognition' }],
};
const wild: Yaml = { ...wildAtRoot, basePath: '/api' };
/** Serves by each of these in turn. */
const gateway = await startGateway(scene, named);
let inForce = named;

interface Call {
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly content?: string;
  readonly from?: string;
}

/** What reached the services of one call under a configuration, and the status of its answer. */
async function call(t: TestContext, config: Yaml, line: string, { headers = [], content, from }: Call = {}) {
  if (config !== inForce) await reload(gateway, config);
  inForce = config;
  arrived.length = 0;
  const client = await openRaw(t, gateway.port, from === undefined ? {} : { from });
  client.write(requestBytes(line, [['apiKey', demoKey], ...headers], content));
  const [answer] = await client.responses();
  client.socket.destroy();
  return { status: answer?.status, requests: [...arrived], lines: arrived.map(lineOf) };
}

const lineOf = (request: string): string => request.slice(0, request.indexOf('\r\n'));

/** What a service is told of the gateway's base path, once for each header. */
function prefixesIn(request: string | undefined): readonly (string | undefined)[] {
  return [...(request ?? '').matchAll(/^[^:\r\n]*prefix: ?(.*)\r$/gim)].map(([, value]) => value);
}

const cases: [config: Yaml, asked: string, sent: string][] = [
  [named, 'GET /a$b/c', 'GET /'],
  [named, 'GET /a$b/c?', 'GET /?'],
  [named, 'GET /a$b/c?a=/a$b/c&b', 'GET /?a=/a$b/c&b'],
  [named, 'DELETE /a$b/c', 'DELETE /internal/v2'],
  [named, 'GET /a$b/c/s/exact?a', 'GET /s/exact?a'],
  [named, 'HEAD /a$b/c/s/exact', 'HEAD /s/exact'],
  [named, 'GET /a$b/c/s/%C3%A4', 'GET /s/%C3%A4'],
  [named, 'GET /a$b/c/s/%c3%a4%24', 'GET /s/%c3%a4%24'],
  [named, 'GET /a%24b/c/s/%c3%a4%24', 'GET /s/%c3%a4%24'],
  [named, 'GET /a$b/c/e/', 'GET /e/'],
  [named, 'GET /a$b/c/s/all/a$b/c/x/', 'GET /s/all/a$b/c/x/'],
  [named, 'GET /a$b/c/m/exact', 'GET /internal/v2/m/exact'],
  [named, 'GET /a$b/c/m/x?/', 'GET /internal/v2/m/x?/'],
  [named, 'GET /a%24b/c/m/all/http:/x', 'GET /internal/v2/m/all/http:/x'],
  [named, 'GET /a$b/c/a', 'GET /a'],
  [named, 'GET /a$b/c/v1/%C3%A4', 'GET /a$b/c/v1/%C3%A4'],
  [named, 'GET /a%24b/c/same/x', 'GET /a%24b/c/same/x'],
  [exact, 'GET /', 'GET /internal'],
  [exact, 'GET /?a', 'GET /internal?a'],
  [exact, 'GET /v1/', 'GET /internal/v1/'],
  [exact, 'GET /v1/a%20b', 'GET /internal/v1/a%20b'],
  [wild, 'GET /api/', 'GET /internal/'],
  [wild, 'GET /api/api/x', 'GET /internal/api/x'],
  [wildAtRoot, 'GET /', 'GET /internal/'],
  [wildAtRoot, 'GET /internal', 'GET /internal/internal'],
];

for (const [config, line, sent] of cases) {
  test(`the base path of the service stands in place of the gateway's: ${line} arrives as ${sent}`, async (t) => {
    const { status, lines } = await call(t, config, line);
    assert.deepEqual([status, lines], [200, [`${sent} HTTP/1.1`]]);
  });
}

/** Of two paths that would be one at the service at most one has a route. */
const refused: [config: Yaml, line: string, status: number][] = [
  [named, 'GET /a$b/c/', 404],
  [named, 'GET /a%24b/c', 404],
  [named, 'GET /a%24b/c/', 404],
  [named, 'GET /a%24b/c/s/exact', 404],
  [named, 'GET /a$b/c//s/exact', 400],
  [named, 'GET /a$b/c//', 400],
  [named, 'GET /A$b/c/s/exact', 404],
  [named, 'GET /a$b/c/s/exact/', 404],
  [named, 'GET /s/exact', 404],
  [wild, 'GET /api', 404],
  [wild, 'GET /api//', 400],
];

for (const [config, line, expected] of refused) {
  test(`a path is judged before it is rewritten: ${line} is ${expected}`, async (t) => {
    const { status, lines } = await call(t, config, line);
    assert.deepEqual([status, lines], [expected, []]);
  });
}

test('a body that streams goes to the same path as one in memory, also where one of the targets is away', async (t) => {
  for (const size of [10, 200_000]) {
    const large = { content: 'x'.repeat(size) };
    const { requests, lines } = await call(t, named, 'POST /a%24b/c/m/all/%C3%A4/?q', large);
    assert.deepEqual(lines, ['POST /internal/v2/m/all/%C3%A4/?q HTTP/1.1']);
    assert.deepEqual(prefixesIn(requests[0]), ['/a$b/c']);
    for (let turn = 0; turn < 2; turn += 1) {
      const { lines: elsewhere } = await call(t, named, 'POST /a$b/c/e/x/', large);
      assert.deepEqual(elsewhere, ['POST /e/x/ HTTP/1.1']);
    }
  }
});

test('what is sent again goes to the same path', async (t) => {
  await call(t, named, 'GET /a$b/c/f/1');
  const { status, requests, lines } = await call(t, named, 'GET /a%24b/c/f/2?q');
  const line = 'GET /internal/v2/f/2?q HTTP/1.1';
  assert.deepEqual([status, lines], [200, [line, line]]);
  assert.deepEqual(requests.map(prefixesIn), [['/a$b/c'], ['/a$b/c']]);
});

test('a WebSocket goes to the path of the service', async (t) => {
  const { status, requests, lines } = await call(t, named, 'GET /a$b/c/w/live?q', {
    headers: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ],
  });
  assert.deepEqual([status, lines], [101, ['GET /internal/v2/w/live?q HTTP/1.1']]);
  assert.deepEqual(prefixesIn(requests[0]), ['/a$b/c']);
});

const outer = 'X-Forwarded-Prefix';
const told: {
  what: string;
  told: readonly string[];
  config?: Yaml;
  path?: string;
  call?: Call;
}[] = [
  { what: "it is the gateway's", told: ['/a$b/c'] },
  { what: 'it is / where the gateway has none', config: exact, path: '/v1/x', told: ['/'] },
  { what: 'there is none where both are the same', path: '/a$b/c/same/x', told: [] },
  { what: 'there is none where the service has no other', path: '/a$b/c/v1/x', told: [] },
  {
    what: 'no client names another',
    call: {
      headers: [
        [outer, '/evil'],
        ['x_forwarded_prefix', '/evil'],
      ],
    },
    told: ['/a$b/c'],
  },
  {
    what: 'no client names one where there is none',
    path: '/a$b/c/v1/x',
    call: { headers: [[outer, '/evil']] },
    told: [],
  },
  {
    what: 'a trusted proxy names what it has taken away',
    call: { headers: [[outer, '/outer/v1']], from: proxy },
    told: ['/outer/v1/a$b/c'],
  },
  {
    what: 'a trusted proxy names none where there is none',
    path: '/a$b/c/v1/x',
    call: { headers: [[outer, '/outer']], from: proxy },
    told: [],
  },
  ...['//evil', '/', '/a/', 'a', '/a/../b', '/.', '/a, /b', '/a?b', '/a%2fb', 'http://evil', ''].map(
    (value) => ({
      what: `a trusted proxy names a plain path only, not ${JSON.stringify(value)}`,
      call: { headers: [[outer, value]] as const, from: proxy },
      told: ['/a$b/c'],
    }),
  ),
  {
    what: 'a trusted proxy names one only',
    call: {
      headers: [
        [outer, '/a'],
        [outer, '/b'],
      ],
      from: proxy,
    },
    told: ['/a$b/c'],
  },
];

for (const { what, told: expected, config = named, path = '/a$b/c/m/x', call: asks } of told) {
  test(`a service is told the base path that callers use: ${what}`, async (t) => {
    const { status, requests } = await call(t, config, `GET ${path}`, asks);
    assert.equal(status, 200);
    assert.deepEqual(requests.map(prefixesIn), [expected]);
  });
}

test('the log has the path of the caller', async (t) => {
  await call(t, named, 'GET /a$b/c/s/logged');
  await until(() => gateway.logs().find(({ path }) => path === '/a$b/c/s/logged'));
  assert.ok(gateway.logs().every(({ path }) => path !== '/s/logged'));
});

test('health checks and the path for usage stay as they are written', async (t) => {
  await until(() => checked.received.length > 0);
  assert.equal(lineOf(checked.received[0]!.toString('latin1')), 'GET /health HTTP/1.1');
  const usage = await exchange(t, gateway.port, requestBytes('GET /a$b/c/usage', [['apiKey', demoKey]]));
  assert.equal(usage.status, 200);
});
