import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import type { RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { openDoor } from '../helpers/door.ts';
import type { RawResponse } from '../helpers/parse-responses.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { demoKey, namePath } from '../helpers/start-gateway.ts';

// A refused request never reaches the upstream, and says in one form why it was refused.

const schema = {
  type: 'object',
  required: ['firstName', 'lastName'],
  properties: { firstName: { type: 'string' }, lastName: { type: 'string' } },
};
const key = (id: string, more: object): object => ({ id, plan: 'free', ...more });
const sunset = {
  upstream: 'recognition',
  deprecated: '2020-01-01',
  sunset: '2020-06-01',
  afterSunset: 'gone',
};
const door = await openDoor(
  { after },
  {
    keys: [
      key('demo', { secret: demoKey }),
      key('hashed', { hash: `sha256:${createHash('sha256').update('k-hashed').digest('hex')}` }),
      key('disabled', { secret: 'k-disabled', enabled: false }),
      key('expired', { secret: 'k-expired', expires: '2020-01-01' }),
      key('lasting', { secret: 'k-lasting', expires: '2999-01-01' }),
    ],
    upstreams: { nobody: { targets: ['http://127.0.0.1:9'] } },
    versions: { v0: sunset, v1: { upstream: 'recognition' } },
    routes: [
      { path: '/v1/alive', methods: ['GET'] },
      { path: '/v0/old', methods: ['GET'] },
      { path: '/v1/nobody', methods: ['GET'], upstream: 'nobody' },
      { path: namePath, methods: ['POST'], body: { json: { maxSize: '1KB', schema } } },
    ],
    errors: {
      version_gone: { status: 404, message: 'Gone for good', fields: { docs: 'https://example.com', n: 1 } },
    },
  },
);
const { gateway } = door;

const guess = '{"firstName":"Ada","lastName":"Lovelace"}';
const jsonType = ['Content-Type', 'application/json'] as const;
type Headers = readonly (readonly [name: string, value: string])[];

function call(headers: Headers, line = `POST ${namePath}`, body = guess): Promise<RawResponse[]> {
  return door.send(requestBytes(line, headers, body));
}

const accepted: [name: string, headers: Headers, keyId: string][] = [
  ['apiKey', [['apiKey', demoKey]], 'demo'],
  ['apikey', [['apikey', demoKey]], 'demo'],
  ['APIKEY', [['APIKEY', demoKey]], 'demo'],
  ['ApIkEy', [['ApIkEy', demoKey]], 'demo'],
  ['apiKey with spaces around its value', [['apiKey', `  ${demoKey}\t `]], 'demo'],
  ['a key given as a hash', [['apiKey', 'k-hashed']], 'hashed'],
  ['a key that expires later', [['apiKey', 'k-lasting']], 'lasting'],
];
for (const [name, headers, keyId] of accepted) {
  test(`a valid key is taken and never passed on: ${name}`, async () => {
    const [answer] = await call([...headers, jsonType]);
    assert.equal(answer?.status, 200);
    const [request, ...others] = door.reached();
    assert.deepEqual(others, []);
    assert.equal(request?.headers['x-gatehouse-key-id'], keyId);
    assert.equal(request.headers['apikey'], undefined);
    assert.equal(request.body.toString(), guess);
    assert.ok(!JSON.stringify(request.rawHeaders).includes('k-'));
  });
}

const keyless: [name: string, headers: Headers][] = [
  ['no key', []],
  ['an empty key', [['apiKey', '']]],
  ['a blank key', [['apiKey', ' \t ']]],
  ['a key under another name', [['X-Api-Key', demoKey]]],
  ['a key as a bearer token', [['Authorization', `Bearer ${demoKey}`]]],
  ['a key with an underscore in its name', [['api_Key', demoKey]]],
];
for (const [name, headers] of keyless) {
  test(`a request with ${name} is told that one is required`, async () => {
    const [answer] = await call([...headers, jsonType]);
    assertRefused(answer, 'key_missing', 'API key is required');
    assert.equal(answer?.text, '{"error":"API key is required"}');
    assert.equal(answer.headers['www-authenticate'], 'ApiKey realm="gatehouse"');
    assert.deepEqual(door.reached(), []);
  });
}

const invalid: [name: string, ...headers: Headers][] = [
  ['unknown', ['apiKey', 'k-unknown']],
  ['in another letter case', ['apiKey', demoKey.toUpperCase()]],
  ['cut short', ['apiKey', demoKey.slice(0, -1)]],
  ['disabled', ['apiKey', 'k-disabled']],
  ['expired', ['apiKey', 'k-expired']],
  ['repeated', ['apiKey', demoKey], ['apiKey', demoKey]],
  ['repeated in another letter case', ['apiKey', demoKey], ['APIKEY', 'k-lasting']],
  ['empty and then valid', ['apiKey', ''], ['apiKey', demoKey]],
  ['valid and then empty', ['apiKey', demoKey], ['apiKey', '']],
  ['empty twice', ['apiKey', ''], ['apiKey', '']],
  ['a list', ['apiKey', `${demoKey}, ${demoKey}`]],
  ['quoted', ['apiKey', `"${demoKey}"`]],
  ['of bytes above ASCII', ['apiKey', '\xff\xfe']],
  ['very long', ['apiKey', 'k'.repeat(10_000)]],
  ['the hash of a key', ['apiKey', createHash('sha256').update(demoKey).digest('hex')]],
  ['the id of a key', ['apiKey', 'demo']],
  ['the name of a prototype', ['apiKey', '__proto__']],
];
test('every key that is not valid gets the very same answer, whatever the path, but for Date and X-Request-Id', async () => {
  const seen = new Set<string>();
  for (const [name, ...headers] of invalid) {
    for (const line of [`POST ${namePath}`, 'POST /v1/unknown', `DELETE ${namePath}`]) {
      const [answer] = await call([...headers, jsonType], line);
      assertRefused(answer, 'key_invalid', 'Invalid API key');
      assert.ok(answer, name);
      const lines = answer.rawHeaders.map(([header, value]) =>
        /^(?:date|x-request-id)$/i.test(header) ? header : `${header}: ${value}`,
      );
      seen.add([answer.status, answer.reason, ...lines, answer.text].join('\n'));
    }
  }
  assert.equal(seen.size, 1, [...seen].join('\n\n'));
  assert.match([...seen][0] ?? '', /WWW-Authenticate: ApiKey realm="gatehouse"/);
  assert.deepEqual(door.reached(), []);
});

const keyed = [['apiKey', demoKey]] as const;
const refused: [code: RefusalCode, line: string, headers: Headers, body: string, error?: string][] = [
  ['key_missing', 'POST /v1/unknown', [], ''],
  ['key_missing', `GET ${namePath}`, [], ''],
  ['key_missing', `TRACE ${namePath}`, [], ''],
  ['key_missing', `OPTIONS ${namePath}`, [], ''],
  ['route_unknown', 'GET /v1/unknown', keyed, '', 'Not found'],
  ['route_unknown', 'GET /', keyed, '', 'Not found'],
  ['route_unknown', `POST ${namePath}/`, keyed, guess, 'Not found'],
  ['route_unknown', `POST ${namePath.toUpperCase()}`, keyed, guess, 'Not found'],
  ['method_not_allowed', `GET ${namePath}`, keyed, '', 'Method not allowed'],
  ['method_not_allowed', `OPTIONS ${namePath}`, keyed, '', 'Method not allowed'],
  ['method_not_allowed', `TRACE ${namePath}`, keyed, '', 'Method not allowed'],
  ['path_malformed', `POST /${namePath}`, keyed, guess],
  ['request_malformed', `POST ${namePath}`, [...keyed, ['Host', 'a,b']], guess],
  ['expectation_failed', `POST ${namePath}`, [...keyed, jsonType, ['Expect', 'x']], guess],
  ['headers_too_large', `POST ${namePath}`, Array.from({ length: 101 }, () => ['X-A', 'a'] as const), guess],
  ['body_unexpected', 'GET /v1/alive', keyed, guess, 'This endpoint takes no request body'],
  ['content_type_unsupported', `POST ${namePath}`, keyed, guess, 'Content-Type must be application/json'],
  [
    'content_encoding_unsupported',
    `POST ${namePath}`,
    [...keyed, jsonType, ['Content-Encoding', 'gzip']],
    guess,
  ],
  [
    'body_too_large',
    `POST ${namePath}`,
    [...keyed, jsonType],
    ' '.repeat(1025),
    'The request body must be at most 1 KB',
  ],
  ['body_malformed', `POST ${namePath}`, [...keyed, jsonType], '', 'The body is empty'],
  ['body_malformed', `POST ${namePath}`, [...keyed, jsonType], '{"firstName":', 'The body is not valid JSON'],
  ['body_invalid', `POST ${namePath}`, [...keyed, jsonType], '{"firstName":"a"}', 'lastName is required'],
  [
    'body_invalid',
    `POST ${namePath}`,
    [...keyed, jsonType],
    '{"firstName":1,"lastName":"b"}',
    'firstName must be a string',
  ],
  ['upstream_unreachable', 'GET /v1/nobody', keyed, '', 'The service could not be reached'],
];
const expected: unknown[][] = [];
for (const [code, line, headers, body, error] of refused) {
  test(`refused as ${code}: ${line} ${body.slice(0, 20)}`, async () => {
    const [answer] = await call(headers, line, body);
    assertRefused(answer, code, error);
    assert.equal(answer?.headers['allow'], code === 'method_not_allowed' ? 'POST' : undefined);
    assert.deepEqual(door.reached(), []);
    expected.push([answer?.headers['x-request-id'], code, answer?.status]);
  });
}

test('each refusal is logged once, as it was answered', async () => {
  const ids = new Set(expected.map(([id]) => id));
  const found = await until(() => {
    const lines = gateway.logs().filter(({ requestId }) => ids.has(requestId));
    return lines.length >= expected.length ? lines : undefined;
  });
  assert.deepEqual(
    found.map(({ requestId, refusal, status }) => [requestId, refusal, status]),
    expected,
  );
});

test('a refusal says what the YAML says instead', async () => {
  const [answer] = await call(keyed, 'GET /v0/old', '');
  assert.equal(answer?.status, 404);
  assert.equal(answer.text, '{"error":"Gone for good","docs":"https://example.com","n":1}');
  assert.equal(answer.headers['x-gatehouse-refusal'], 'version_gone');
  assert.match(answer.headers['sunset'] ?? '', /^Mon, 01 Jun 2020 /);
  assert.deepEqual(door.reached(), []);
});

test('an ordinary client reads a refusal and goes on with the same connection', async () => {
  for (const headers of [{}, { apiKey: 'wrong' }, { apiKey: demoKey }]) {
    const answer = await fetch(gateway.url + namePath, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: guess,
    });
    assert.equal(answer.status, 'apiKey' in headers && headers.apiKey === demoKey ? 200 : 401);
    await answer.json();
  }
  assert.equal(door.reached().length, 1);
});

test('a refusal of HEAD has no body and leaves the connection in step', async (t) => {
  const raw = await openRaw(t, gateway.port, { methods: ['HEAD', 'GET'] });
  raw.write('HEAD /v1/alive HTTP/1.1\r\nHost: a\r\n\r\n');
  raw.write(`GET /v1/alive HTTP/1.1\r\nHost: a\r\napiKey: ${demoKey}\r\n\r\n`);
  const answers = await raw.responses(2);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 200],
  );
});

for (const framing of [
  'Transfer-Encoding: chunked',
  'Content-Length: 5\r\nExpect: 100-continue',
  'Content-Length: 500000',
]) {
  test(`a refusal of HEAD does not wait for the body: ${framing.replace('\r\n', ', ')}`, async (t) => {
    const raw = await openRaw(t, gateway.port, { methods: ['HEAD'] });
    raw.write(`HEAD /v1/alive HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
    assert.equal((await raw.responses(1))[0]?.status, 401);
    // By the time that the gateway has answered another, an end that it sent with the answer has come.
    await door.gateway.inFlight();
    assert.equal(raw.closed, false, 'it came with the end of the connection');
  });
}

const expecting = `POST ${namePath} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n`;
const uninvited: [name: string, headers: string, code: RefusalCode][] = [
  ['without a key', 'Content-Length: 41\r\n', 'key_missing'],
  ['with a wrong key', 'apiKey: wrong\r\nContent-Length: 41\r\n', 'key_invalid'],
  ['too large', `apiKey: ${demoKey}\r\nContent-Length: 1000000\r\n`, 'body_too_large'],
  [
    'compressed',
    `apiKey: ${demoKey}\r\nContent-Encoding: gzip\r\nContent-Length: 41\r\n`,
    'content_encoding_unsupported',
  ],
];
for (const [name, headers, code] of uninvited) {
  test(`nobody is invited to send a body that is refused anyway: ${name}`, async (t) => {
    const raw = await openRaw(t, gateway.port);
    raw.write(`${expecting}${headers}\r\n`);
    const answers = await raw.responses(1);
    assert.equal(answers.length, 1);
    assertRefused(answers[0], code);
    assert.equal(answers[0]?.headers['connection'], 'close');
    assert.deepEqual(door.reached(), []);
  });
}

test('a body whose head is in order is invited, once', async (t) => {
  const raw = await openRaw(t, gateway.port);
  raw.write(`${expecting}apiKey: ${demoKey}\r\nContent-Length: ${guess.length}\r\n\r\n`);
  await raw.receivedUntil((bytes) => bytes.toString() === 'HTTP/1.1 100 Continue\r\n\r\n');
  assert.deepEqual(door.reached(), []);
  raw.write(guess);
  assert.deepEqual(
    (await raw.responses(1)).map(({ status }) => status),
    [100, 200],
  );
  assert.equal(door.reached()[0]?.headers['expect'], undefined);
});
