import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { operations } from '../../src/admin/operations.ts';
import { createAdminClient, type AdminRequest } from '../helpers/admin-client.ts';
import { parseResponses } from '../helpers/parse-responses.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes, type RawSocket } from '../helpers/raw-socket.ts';
import { startGateway } from '../helpers/start-gateway.ts';

const writer = 'writer-token-0123456789';
/** What it refuses it refuses also where Node was told to be lenient. */
const gateway = await startGateway(
  { after },
  { admin: { token: writer }, plans: { free: {}, paid: {} } },
  { env: { NODE_OPTIONS: '--insecure-http-parser' } },
);
const ask = await createAdminClient(gateway.adminUrl, writer);
const port = Number(new URL(gateway.adminUrl).port);
const { key } = (await ask('POST', '/v1/keys', { body: { id: 'k1', plan: 'free' } })).body;
const path = `/v1/keys/${key.id}`;
const bearer = ['Authorization', `Bearer ${writer}`] as const;
const host = ['Host', `127.0.0.1:${port}`] as const;
const json = ['Content-Type', 'application/json'] as const;
const raw = (
  line: string,
  headers: readonly (readonly [string, string])[] = [],
  body: string | Buffer = '',
) => requestBytes(line, [host, bearer, ...headers], body);

for (const target of [
  '/v1/keys/%2e%2e',
  '/v1/keys/%6b1',
  '/v1/keys/../keys/k1',
  '/v1//keys/k1',
  '/v1/keys/k1/',
  '/v1/keys/',
  '/V1/keys/k1',
  '/v1/keys/k1%00',
  '/v1/keys/__proto__',
  '/v1/keys/-k1',
  `/v1/keys/${'k'.repeat(65)}`,
  '/v1/keys/k1/rotate/..',
  '/v1',
  '/v1/',
  '/unknown',
  '/openapi.json/',
]) {
  test(`${target} is 404 and nothing else`, async (t) => {
    const answer = await exchange(t, port, raw(`GET ${target}`));
    // A final slash is the same page to the router of the probes, which has no ids.
    const expected = target === '/openapi.json/' ? 200 : 404;
    assert.equal(answer.status, expected);
    // Of what is no id, no store is asked whether there is such a key.
    if (expected === 404) assert.equal(answer.text, '{"error":"Not found","code":"not_found"}');
  });
}

test('a target that no router can read is refused as all else is, whether its body comes or not', async (t) => {
  for (const headers of [[], [['Content-Length', '100'] as const]]) {
    const line = headers.length === 0 ? 'GET http://[/livez' : 'POST http://[/v1/keys';
    const answer = await exchange(t, port, requestBytes(line, [host, ...headers]));
    assert.deepEqual(
      [answer.status, answer.headers['cache-control'], answer.headers['connection'], answer.text],
      [400, 'no-store', 'close', '{"error":"The target is malformed","code":"malformed"}'],
    );
  }
});

test('a target that names its host is refused: that host would count, and only the header is looked at', async (t) => {
  for (const at of ['/livez', '/metrics', '/v1/keys'])
    assert.equal((await exchange(t, port, raw(`GET http://evil.example${at}`))).status, 400, at);
});

test('a client that asks for a tunnel is answered as for any other wrong method', async (t) => {
  const answer = await exchange(t, port, requestBytes('CONNECT evil.example:443', [host]));
  assert.deepEqual(
    [answer.status, answer.headers['allow'], answer.headers['cache-control'], answer.text],
    [405, 'GET, HEAD', 'no-store', '{"error":"Method not allowed","code":"method_not_allowed"}'],
  );
});

test('a wrong method is 405 and says which are right; OPTIONS gives no other origin a permission', async (t) => {
  for (const [method, at, allowed] of [
    ['DELETE', '/v1/keys', 'GET, HEAD, POST, OPTIONS'],
    ['PUT', path, 'GET, HEAD, PATCH, OPTIONS'],
    ['GET', `${path}/revoke`, 'POST, OPTIONS'],
    ['BREW', '/v1/audit', 'GET, HEAD, OPTIONS'],
    ['TRACE', '/v1/verify', 'POST, OPTIONS'],
    ['POST', '/livez', 'GET, HEAD'],
    ['DELETE', '/readyz', 'GET, HEAD'],
    ['PUT', '/openapi.json', 'GET, HEAD'],
    ['POST', '/metrics', 'GET, HEAD'],
    ['OPTIONS', '/', 'GET, HEAD'],
  ] as const) {
    const answer = await exchange(t, port, raw(`${method} ${at}`));
    // Node's parser knows no such method, and answers by itself.
    if (method === 'BREW') assert.equal(answer.status, 400);
    else assert.deepEqual([answer.status, answer.headers['allow']], [405, allowed], method);
  }
  const options = await exchange(
    t,
    port,
    raw(`OPTIONS ${path}`, [
      ['Origin', 'https://evil.example'],
      ['Access-Control-Request-Method', 'PATCH'],
    ]),
  );
  assert.deepEqual(
    [options.status, options.headers['allow'], options.headers['content-length'], options.text],
    [204, 'GET, HEAD, PATCH, OPTIONS', undefined, ''],
  );
  assert.ok(!Object.keys(options.headers).some((name) => name.startsWith('access-control')));
  const preflight = requestBytes(`OPTIONS ${path}`, [host, ['Origin', 'https://evil.example']]);
  assert.equal((await exchange(t, port, preflight)).status, 401);
});

test('HEAD answers as GET does, without the body', async (t) => {
  const got = await exchange(t, port, raw(`GET ${path}`));
  const headed = await exchange(t, port, raw(`HEAD ${path}`));
  assert.deepEqual([headed.status, headed.text], [200, '']);
  for (const name of ['etag', 'content-length', 'content-type', 'cache-control']) {
    assert.equal(headed.headers[name], got.headers[name], name);
  }
});

const bodies: readonly (readonly [name: string, body: string, status: number])[] = [
  ['nothing', '', 400],
  ['half an object', '{"plan":', 400],
  ['a key twice', '{"plan":"free","plan":"paid"}', 400],
  ['__proto__', '{"__proto__":{"plan":"free"}}', 400],
  ['a deep nest', `{"labels":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 400],
  ['null', 'null', 422],
  ['more than fits', `{"name":"${'x'.repeat(140_000)}"}`, 413],
  ['an unknown field', '{"plna":"free"}', 422],
  ['a field of every object', '{"constructor":"free"}', 422],
  ['secrets', '{"secrets":[]}', 422],
];
for (const [name, body, status] of bodies) {
  test(`a body that is ${name} is ${status}`, async (t) => {
    for (const line of ['POST /v1/keys', `PATCH ${path}`]) {
      const answer = await exchange(t, port, raw(line, [json], body));
      assert.equal(answer.status, status, `${line} ${answer.text}`);
      assert.match(answer.text, /^\{"error":"[A-Za-z][^"]*/);
    }
    assert.equal((await ask('GET', path)).body.version, 1);
  });
}

test('all that is wrong in fields is said at once, and none of it repeated', async () => {
  const body = {
    plan: 'gold',
    name: 7,
    quotas: [{ name: 'm', limit: 0 }],
    labels: { 'a b': 'x' },
    tpyo: 'hidden',
  };
  const answer = await ask('POST', '/v1/keys', { body });
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.body.fields.map(({ field }) => field).toSorted(), [
    'labels',
    'name',
    'plan',
    'quotas[0].limit',
    'tpyo',
  ]);
  assert.ok(answer.body.error.startsWith(answer.body.fields[0]?.field ?? '?'));
  assert.ok(!answer.text.includes('hidden'));
});

for (const query of [
  'limit=0',
  'limit=1e2',
  'limit=1&limit=2',
  'limit=',
  'enabled=yes',
  'cursor=../x',
  'lmit=1',
  '__proto__=1',
  Array.from({ length: 33 }, () => 'label=a').join('&'),
]) {
  test(`the query ${query.slice(0, 30)} is 422`, async () => {
    assert.equal((await ask('GET', `/v1/keys?${query}`)).status, 422);
  });
}

test('a query that is malformed, or stands where none is taken, is refused', async (t) => {
  for (const target of ['/v1/keys?name=%zz', '/v1/keys?name=%', '/v1/keys?name=\xff']) {
    assert.equal((await exchange(t, port, raw(`GET ${target}`))).status, 400, target);
  }
  assert.equal((await ask('GET', '/v1/keys?name=what?')).status, 200);
  assert.equal((await ask('GET', `${path}?full=true`)).status, 422);
  assert.match((await ask('GET', '/v1/keys?limt=1')).body.error, /did you mean "limit"\?$/);
  for (const cursor of ['', '1-', 'x', '9'.repeat(30), '1;DROP']) {
    assert.equal((await ask('GET', `/v1/audit?cursor=${cursor}`)).status, 422, cursor);
  }
});

test('only JSON is taken as JSON, and nothing compressed', async (t) => {
  const body = '{"plan":"free"}';
  for (const headers of [
    [],
    [['Content-Type', 'text/plain']],
    [['Content-Type', 'application/x-www-form-urlencoded']],
    [['Content-Type', 'application/json; charset=latin1']],
    [json, ['Content-Encoding', 'gzip']],
  ] as [string, string][][]) {
    assert.equal((await exchange(t, port, raw('POST /v1/keys', headers, body))).status, 415);
  }
  for (const type of ['application/json', 'text/plain', 'csv']) {
    const answer = await ask('POST', '/v1/import', { headers: { 'content-type': type }, body });
    assert.equal(answer.status, 415, type);
  }
  for (const [target, type, demand] of [
    ['/v1/keys', 'application/json; charset=latin1', 'application/json with charset=utf-8 or no parameter'],
    ['/v1/keys', 'Application/JSON; charset=', 'application/json with charset=utf-8 or no parameter'],
    ['/v1/import', 'text/csv; header=absent', 'text/csv with charset=utf-8 or no parameter'],
    ['/v1/keys', 'text/csv; charset=utf-8', 'application/json'],
  ] as const) {
    const answer = await ask('POST', target, { headers: { 'content-type': type }, body });
    assert.deepEqual([answer.status, answer.body.error], [415, `Content-Type must be ${demand}`]);
  }
  const loose = { 'content-type': 'Application/JSON; charset="UTF-8";' };
  assert.equal((await ask('POST', '/v1/keys', { headers: loose, body })).status, 201);
  assert.equal((await exchange(t, port, raw(`POST ${path}/disable`, [json], '{}'))).status, 400);
  assert.equal((await ask('GET', path)).body.enabled, true);
});

test('a body that is too large is refused before it is sent, and one without a length while it comes', async (t) => {
  const waiting = await openRaw(t, port);
  waiting.write(raw('POST /v1/keys', [json, ['Content-Length', '1000000000'], ['Expect', '100-continue']]));
  const [first] = await waiting.responses(1);
  assert.equal(first?.status, 413, 'no 100 comes first');
  const chunked = await openRaw(t, port);
  chunked.write(raw('POST /v1/keys', [json, ['Transfer-Encoding', 'chunked']]));
  chunked.write(`40000\r\n${'x'.repeat(0x40000)}\r\n`);
  const [answer] = await chunked.responses(1);
  assert.equal(answer?.status, 413);
  await isCut(chunked);
});

test('the rest of a body that is too large is read, and the next request behind it is answered', async (t) => {
  const client = await openRaw(t, port);
  client.write(raw('POST /v1/keys', [json, ['Transfer-Encoding', 'chunked']]));
  for (let i = 0; i < 4; i += 1) client.write(`20000\r\n${'x'.repeat(0x20000)}\r\n`);
  client.write(Buffer.concat([Buffer.from('0\r\n\r\n'), raw(`GET ${path}`)]));
  assert.deepEqual(
    (await client.responses(2)).map(({ status }) => status),
    [413, 200],
  );
});

test('chunks that hold nothing are no body, and those that hold something are one', async (t) => {
  const chunked = ['Transfer-Encoding', 'chunked'] as const;
  const body = { plan: 'free', quotas: [{ name: 'monthly', limit: 5, per: 'month' }] };
  const own = `/v1/keys/${(await ask('POST', '/v1/keys', { body })).body.key.id}`;
  for (const line of [`GET ${own}`, `POST ${own}/disable`, `POST ${own}/usage/reset`]) {
    const answers = ['0\r\n\r\n', '2\r\n{}\r\n0\r\n\r\n'].map((chunks) =>
      exchange(t, port, raw(line, [chunked], chunks)),
    );
    const refused = line.endsWith('reset') ? 415 : 400;
    assert.deepEqual(
      (await Promise.all(answers)).map(({ status }) => status),
      [200, refused],
      line,
    );
  }
  assert.equal((await exchange(t, port, raw('POST /v1/keys', [json, chunked], '0\r\n\r\n'))).status, 400);
  for (const headers of [[['Content-Length', '2']], [chunked, ['Expect', '100-continue']]] as const) {
    const asked = await openRaw(t, port);
    asked.write(raw(`POST ${own}/disable`, headers));
    assert.equal((await asked.responses(1))[0]?.status, 400, 'before any of it has come');
  }
});

/** Bodies that are taken, by operation. */
const good: Readonly<Record<string, object | string>> = {
  createKey: { plan: 'free', id: 'ended' },
  updateKey: { name: 'another' },
  rotateKey: { overlap: '0s' },
  setUsage: { quota: 'monthly', used: 1 },
  resetUsage: {},
  verifyKey: { secret: 'nobody-has-this' },
  importKeys: '{}',
};
const large = JSON.stringify({ name: 'x'.repeat(140_000) });
/** What is asked otherwise to be refused with each status that not every operation gives; the key has been revoked. */
const otherwise: readonly (readonly [status: number, AdminRequest & { readonly id?: string }])[] = [
  [404, { id: 'nobody' }],
  [409, {}],
  [412, { headers: { 'if-match': '"999"' } }],
  [413, { body: large }],
  [415, { body: 'x', headers: { 'content-type': 'text/html' } }],
];
/** They conflict only with a plan that is gone, a period that ends, or somebody who changes the key all the time. */
const rareConflicts: ReadonlySet<string> = new Set(['showUsage', 'setUsage', 'revokeKey', 'importKeys']);

test('each operation refuses in just the ways that the document has for it', async () => {
  await ask('POST', '/v1/keys', { body: { id: 'ended', plan: 'free' } });
  await ask('POST', '/v1/keys/ended/revoke');
  for (const { method, path: at, id: operation } of operations) {
    const told = ask.document.paths[at]?.[method.toLowerCase()]?.responses ?? {};
    const type = operation === 'importKeys' ? 'application/jsonl' : 'application/json';
    for (const [status, { id = 'ended', headers, body = good[operation] }] of otherwise) {
      if (status === 409 && rareConflicts.has(operation)) continue;
      const request = {
        body: method === 'GET' ? undefined : body,
        headers: { 'content-type': type, ...headers },
      };
      const answer = await ask(method, at.replace('{id}', id), request);
      assert.equal(answer.status === status, status in told, `${operation} ${status}`);
    }
  }
});

test('what is sent ahead on one connection is done in its order', async (t) => {
  const client = await openRaw(t, port);
  const names = Array.from({ length: 8 }, (_, i) => `name ${i}`);
  const made = raw('POST /v1/keys', [json], JSON.stringify({ id: 'in-order', plan: 'free' }));
  const changes = names.map((name) => raw('PATCH /v1/keys/in-order', [json], JSON.stringify({ name })));
  client.write(Buffer.concat([made, ...changes, raw('GET /v1/keys/in-order')]));
  const [first, ...answers] = await client.responses(names.length + 2);
  assert.equal(first?.status, 201);
  const seen = answers.map(
    ({ status, text }) => status === 200 && (JSON.parse(text) as { name: string }).name,
  );
  assert.deepEqual(seen, [...names, names.at(-1)]);
});

test('another expectation is passed over, and opens nothing', async (t) => {
  const expecting = ['Expect', 'a-miracle'] as const;
  assert.equal((await exchange(t, port, raw(`GET ${path}`, [expecting]))).status, 200);
  const answer = await exchange(t, port, requestBytes(`GET ${path}`, [host, expecting]));
  assert.equal(answer.status, 401);
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.match(answer.text, /"code":"token_required"/);
});

test('without a token nothing of a body is read, and nothing is told', async (t) => {
  const client = await openRaw(t, port);
  client.write(
    requestBytes('POST /v1/import', [host, ['Content-Type', 'text/csv'], ['Transfer-Encoding', 'chunked']]),
  );
  client.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
  const [answer] = await client.responses(1);
  assert.deepEqual(
    [answer?.status, answer?.text],
    [401, '{"error":"A valid admin token is required","code":"token_required"}'],
  );
  await isCut(client);
});

for (const version of ['HTTP/1.1\r\nConnection: close', 'HTTP/1.0']) {
  test(`who sends its body late gets to read its refusal, though its connection ends: ${version.slice(0, 8)}`, async (t) => {
    const late = await until(async () => {
      const began = performance.now();
      const client = await openRaw(t, port);
      client.write(`POST /v1/keys ${version}\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 4000\r\n\r\n`);
      assert.equal((await client.responses(1))[0]?.status, 401);
      await exchange(t, port, raw(`GET ${path}`));
      const { closed } = client;
      client.write(Buffer.alloc(4000));
      // A client that is silent for three seconds is waited for no longer, so one that was late itself tells nothing.
      if (performance.now() - began > 2000) return undefined;
      // What comes on a closed connection resets it, and what the client has not read by then is lost.
      assert.equal(closed, false);
      return client;
    });
    await late.receivedUntilClose();
    assert.equal(late.error, undefined);
  });
}

test('behind an upgrade that is ignored the connection ends: what came with it would be lost', async (t) => {
  const sent = await openRaw(t, port);
  const upgrade = [['Connection', 'Upgrade'] as const, ['Upgrade', 'h2c'] as const];
  sent.write(Buffer.concat([raw('GET /livez', upgrade), raw('GET /livez')]));
  const answers = parseResponses(await sent.receivedUntilClose(), { methods: [], closed: true });
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['connection']]),
    [[200, 'close']],
  );
});

test('a page of another site reaches nothing under a name of its own (DNS rebinding)', async (t) => {
  const statusOf = async (name: string, target = '/v1/keys') =>
    (await exchange(t, port, requestBytes(`GET ${target}`, [['Host', name], bearer]))).status;
  for (const name of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    'localhost:x',
    '[::2]',
    '',
  ]) {
    for (const target of ['/v1/keys', '/metrics', '/openapi.json'])
      assert.equal(await statusOf(name, target), 421, `${name} ${target}`);
  }
  const two = [['Host', 'localhost'], ['Host', 'evil.example'], bearer] as const;
  assert.equal((await exchange(t, port, requestBytes('GET /v1/keys', two))).status, 421);
  for (const name of ['localhost', `LOCALHOST:${port}`, '127.0.0.1', '127.1.2.3:80', `[::1]:${port}`]) {
    assert.equal(await statusOf(name), 200, name);
  }
});

test('many failed tokens are slowed down, and a valid one from the same address is not', async () => {
  const statusOf = async (token: string) => (await ask('GET', '/v1/keys', { token })).status;
  const statuses = [];
  for (let at = 0; at < 25; at += 1) statuses.push(await statusOf(`wrong-token-${at}`));
  assert.deepEqual(new Set(statuses.slice(0, 20)), new Set([401]));
  assert.deepEqual(new Set(statuses.slice(20)), new Set([429]));
  const slowed = await ask('GET', '/v1/keys', { token: 'wrong-token' });
  assert.match(slowed.headers.get('retry-after') ?? '', /^[1-5]?\d$|^60$/);
  assert.equal(await statusOf(writer), 200);
  assert.equal((await fetch(`${gateway.adminUrl}/metrics`)).status, 401, 'who shows none is told so');
  const lines = () => gateway.logs().filter(({ msg }) => String(msg).startsWith('too many admin tokens'));
  await until(() => lines().length > 0);
  assert.deepEqual(
    lines().map(({ level, network }) => [level, network]),
    [['warn', '127.0.0.1']],
  );
  assert.ok(!gateway.logText().includes('wrong-token'));
});

for (const target of ['/openapi.json', '/livez', '/v1/keys']) {
  test(`a client without a token that pipelines a thousand times ${target} is cut at the seventeenth`, async (t) => {
    const client = await openRaw(t, port);
    client.write(Buffer.concat(Array.from({ length: 1000 }, () => requestBytes(`GET ${target}`, [host]))));
    const answers = parseResponses(await client.receivedUntilClose(), { methods: [], closed: true });
    assert.ok(answers.length <= 16, `${answers.length} answers`);
    assert.equal((await ask('GET', path)).status, 200);
  });
}

test('a client that breaks off in the middle of an import shakes nothing', async (t) => {
  const client = await openRaw(t, port);
  client.write(
    raw('POST /v1/import', [
      ['Content-Type', 'text/csv'],
      ['Transfer-Encoding', 'chunked'],
    ]),
  );
  client.write('1d\r\nsecret,plan\nsome-foreign-key,\r\n');
  client.socket.destroy();
  await until(() =>
    gateway.logs().find(({ operation, status }) => operation === 'importKeys' && status === 499),
  );
  assert.equal((await ask('GET', path)).status, 200);
  assert.ok(!gateway.logs().some(({ level }) => level === 'error'));
});

/** How the imports ended that operators have asked for so far. */
function importStatuses(): readonly unknown[] {
  return gateway.logs().flatMap(({ operation, status }) => (operation === 'importKeys' ? [status] : []));
}

test('a client that has sent all of an import and leaves before it is done is no fault', async (t) => {
  const before = importStatuses().length;
  const clients = 10;
  const open = await Promise.all(Array.from({ length: clients }, () => openRaw(t, port)));
  for (const [at, client] of open.entries()) {
    const rows = Array.from({ length: 200 }, (_, row) => `import-${at}-of-a-key-${row},free\n`);
    const bytes = raw('POST /v1/import', [['Content-Type', 'text/csv']], ['secret,plan\n', ...rows].join(''));
    client.socket.write(bytes, () => client.socket.destroy());
  }
  await until(() => importStatuses().length === before + clients, { what: 'a line for each import' });
  const odd = importStatuses()
    .slice(before)
    .filter((status) => status !== 200 && status !== 499);
  assert.deepEqual(odd, []);
});

/** Waits for the end of a connection on which the client goes on sending: silence would end it anyway. */
async function isCut(client: RawSocket): Promise<void> {
  const sending = setInterval(() => client.write('1\r\nx\r\n'), 20);
  await until(() => client.closed).finally(() => clearInterval(sending));
}

test('a request that can be read in two ways is refused', async (t) => {
  const framings = [['Content-Length', '5'], ['Transfer-Encoding', 'chunked'], json] as const;
  const bytes = raw('POST /v1/keys', framings, 'f\r\n{"plan":"free"}\r\n0\r\n\r\n');
  assert.equal((await exchange(t, port, bytes)).status, 400);
});
