import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openDoor } from '../helpers/door.ts';
import { requestBytes } from '../helpers/raw-socket.ts';
import { demoKey } from '../helpers/start-gateway.ts';

// A request reaches the one route that was meant for it, or none.

const upstream = 'recognition';
const door = await openDoor(
  { after },
  {
    basePath: '/api',
    versions: {
      v0: { upstream, deprecated: '2020-01-01', sunset: '2020-06-01', afterSunset: 'gone' },
      v1: { upstream, deprecated: '2020-01-01', sunset: '2999-06-01', link: 'https://example.com/v2' },
      v2: { upstream },
      v3: { upstream, deprecated: '2020-01-01', link: 'https://example.com/v4' },
      v4: { upstream, sunset: '2999-06-01', link: 'https://example.com/v5' },
    },
    plans: { free: {}, few: { quotas: [{ name: 'life', limit: 10, per: 'lifetime' }] } },
    keys: [
      { id: 'demo', plan: 'free', secret: demoKey },
      { id: 'few', plan: 'few', secret: 'k-few' },
    ],
    routes: [
      { path: '/v0/old', methods: ['GET'] },
      { path: '/v1/things/:id', methods: ['GET', 'OPTIONS'] },
      { path: '/v2/files/*', methods: ['GET', 'POST'], body: { any: {} } },
      { path: '/v2/files/sign', methods: ['GET'] },
      { path: '/v3/x', methods: ['GET'] },
      { path: '/v4/x', methods: ['GET'] },
      { path: '/v2/files/secret', methods: ['POST'], body: { json: { schema: { type: 'object' } } } },
    ],
  },
);

const cases: [line: string, status: number, headers?: Readonly<Record<string, string | undefined>>][] = [
  [
    'GET /api/v1/things/a%20b?c',
    200,
    { deprecation: '@1577836800', link: '<https://example.com/v2>; rel="deprecation"' },
  ],
  ['HEAD /api/v1/things/a', 200, { sunset: 'Sat, 01 Jun 2999 00:00:00 GMT' }],
  ['OPTIONS /api/v1/things/a', 200],
  ['POST /api/v1/things/a', 405, { allow: 'GET, OPTIONS, HEAD' }],
  ['GET /api/v1/things', 404],
  ['GET /api/v1/things/a/b', 404],
  ['GET /v1/things/a', 404],
  ['GET /api', 404],
  // Nobody reads usage where the YAML has no path for it.
  ['GET /api/v1/usage', 404],
  ['GET /api/usage', 404],
  ['GET /api/v0/old', 410, { deprecation: '@1577836800', sunset: 'Mon, 01 Jun 2020 00:00:00 GMT' }],
  ['GET /api/v4/x', 200, { deprecation: undefined, link: '<https://example.com/v5>; rel="sunset"' }],
  ['GET /api/v2/files/a', 200, { deprecation: undefined, sunset: undefined, link: undefined }],
  ['POST /api/v2/files/a', 200],
  ['POST /api/v2/files/secret', 415],
  ['POST /api/v2/files/secret/', 404],
  ['GET /api/v2/files/s%C4%B1gn', 404],
  ['GET /api/v2/files/s%C4%B0gn', 404],
  ['GET /api/v2/files/si%CC%87gn', 404],
  ['GET /api/v2/files/s%C3%AFgn', 200],
  ['POST /api/v2/files/secre%74', 400],
  ['GET /api/v2/files/secret', 405, { allow: 'POST' }],
  ['GET /api/v2/files', 404],
];

for (const [line, status, headers = {}] of cases) {
  test(`a request reaches its own route or none: ${line} is ${status}`, async () => {
    const [method = '', target] = line.split(' ');
    const [answer] = await door.send(requestBytes(line, [['apiKey', demoKey]]), 1, [method]);
    assert.equal(answer?.status, status);
    for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers[name], value);
    assert.deepEqual(
      door.reached().map((request) => [request.method, request.target]),
      status === 200 ? [[method, target]] : [],
    );
  });
}

test('what the gateway says of a version and of limits takes the place of what the upstream says', async () => {
  door.upstream.handler = (_, res) => {
    for (const name of ['Sunset', 'Deprecation', 'RateLimit', 'RateLimit-Policy', 'Link']) {
      res.setHeader(name, 'theirs');
    }
    res.end('ok');
  };
  const { headers } = await fetch(`${door.gateway.url}/api/v3/x`, { headers: { apiKey: 'k-few' } });
  assert.deepEqual(
    ['sunset', 'deprecation', 'ratelimit', 'ratelimit-policy', 'link'].map((name) => headers.get(name)),
    [
      'theirs',
      '@1577836800',
      '"life";r=9',
      '"life";q=10',
      'theirs, <https://example.com/v4>; rel="deprecation"',
    ],
  );
});
