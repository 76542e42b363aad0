import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { endPatienceMs } from '../../../src/waiting/patience.ts';
import { adminToken as token, away, emptyConfig, openAdmin } from '../../helpers/open-admin.ts';
import { until } from '../../helpers/poll.ts';
import { countClosed, exchange, openRaw, requestBytes, type RawSocket } from '../../helpers/raw-socket.ts';

test('without a token keys cannot be administered, and the answer says how they can', async (t) => {
  const { get, url } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  for (const path of ['/v1/keys', '/v1/pattern', '/v1/nothing']) {
    for (const headers of [{}, { authorization: `Bearer ${token}` }]) {
      const answer = await get(path, headers);
      assert.deepEqual(
        [answer.status, await answer.json()],
        [
          403,
          {
            error:
              'Keys cannot be administered here: set admin.token or admin.tokens in the configuration, and restart',
            code: 'api_off',
          },
        ],
      );
    }
  }
  const created = await fetch(`${url}/v1/keys`, { method: 'POST', body: '{}' });
  assert.equal(created.status, 403);
  assert.equal(await (await get('/metrics')).text(), 'numbers 1\n');
  assert.equal((await get('/livez')).status, 200);
  assert.equal((await get('/openapi.json')).status, 200);
});

test('on any other address than loopback any Host will do: probes and load balancers have names of their own', async (t) => {
  const { url } = await openAdmin(t, `{ listen: "0.0.0.0:9090", token: ${token} }`);
  const { port } = new URL(url);
  const { request } = await import('node:http');
  const status = await new Promise((resolve, reject) => {
    const headers = { host: 'gateway.example', authorization: `Bearer ${token}` };
    request({ port, host: '127.0.0.1', path: '/v1/keys', headers }, (res) => {
      res.resume();
      resolve(res.statusCode);
    })
      .on('error', reject)
      .end();
  });
  assert.equal(status, 200);
});

test('the readiness leaves out the store for those who say so, and what is misspelt is refused', async (t) => {
  const { get } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  const told = async (path: string): Promise<unknown> => {
    const answer = await get(path);
    return [answer.status, await answer.json()];
  };
  assert.deepEqual(await told('/readyz'), [503, { status: 'not ready', reasons: [away] }]);
  const without = [200, { status: 'ready', reasons: [away] }];
  for (const query of ['exclude=store', 'exclude=store&exclude=store'])
    assert.deepEqual(await told(`/readyz?${query}`), without);
  const refused = [400, { error: 'The only parameter of /readyz is exclude=store', code: 'malformed' }];
  for (const query of [
    'exclude=redis',
    'exclude=store&exclude=upstreams',
    'exclude=',
    'exclude',
    'exlude=store',
  ])
    assert.deepEqual(await told(`/readyz?${query}`), refused, query);
});

describe('a body that never ends', { concurrency: true }, () => {
  for (const target of ['GET /livez', 'POST /livez', 'GET /metrics', 'GET /openapi.json', 'GET /v1/keys']) {
    test(`who sends one with ${target} is answered, and cut, unlike one who has sent all of his`, async (t) => {
      const { url } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
      const port = Number(new URL(url).port);
      const [client, other] = [await openRaw(t, port), await openRaw(t, port)];
      const whole = requestBytes(target, [['Host', 'localhost']], 'all');
      other.write(whole);
      await other.responses(1);
      client.write(
        requestBytes(
          target,
          [
            ['Host', 'localhost'],
            ['Content-Length', '1000000'],
          ],
          'half',
        ),
      );
      assert.equal((await client.responses(1)).length, 1);
      // Silence would end the connection anyway.
      const sending = setInterval(() => client.write('x'), 20);
      await until(() => client.closed).finally(() => clearInterval(sending));
      other.write(whole);
      assert.equal((await other.responses(2)).length, 2);
    });
  }
});

const chunkedImport = [
  ['Host', 'localhost'],
  ['Authorization', `Bearer ${token}`],
  ['Content-Type', 'text/csv'],
  ['Transfer-Encoding', 'chunked'],
] as const;

for (const { name, bytes, error } of [
  { name: 'no HTTP', bytes: '\x16\x03\x01\r\n\r\n', error: 'The request cannot be read' },
  { name: 'no Host', bytes: 'GET /livez HTTP/1.1\r\n\r\n', error: 'The header Host is missing' },
  {
    name: 'headers without end',
    bytes: requestBytes('GET /livez', [['X', 'x'.repeat(200_000)]]),
    error: 'The headers of the request are too large',
  },
  {
    name: 'a body whose chunks cannot be read',
    bytes: requestBytes('POST /v1/import', chunkedImport, 'no chunk\r\n'),
    error: 'The request cannot be read',
  },
]) {
  test(`what cannot be read is refused in the words of the API, and the listener lives: ${name}`, async (t) => {
    const { url, get } = await openAdmin(t, `{ token: ${token} }`);
    const client = await openRaw(t, Number(new URL(url).port));
    client.write(bytes);
    const [answer] = await client.responses(1);
    assert.deepEqual([answer?.status, JSON.parse(answer?.text ?? '')], [400, { error, code: 'malformed' }]);
    assert.equal((await get('/livez')).status, 200);
  });
}

test('a probe of HTTP/1.0 needs no Host', async (t) => {
  const { url } = await openAdmin(t, `{ token: ${token} }`);
  const { port } = new URL(url);
  assert.equal((await exchange(t, Number(port), 'GET /livez HTTP/1.0\r\n\r\n')).status, 200);
});

test('what cannot be read behind a request that waits for its answer is not answered in its place', async (t) => {
  const { url } = await openAdmin(t, `{ token: ${token} }`);
  const client = await openRaw(t, Number(new URL(url).port));
  const headers = chunkedImport.slice(0, 2);
  client.write(Buffer.concat([requestBytes('GET /v1/keys', headers), Buffer.from('\x16\x03\r\n\r\n')]));
  const received = await client.receivedUntilClose();
  assert.doesNotMatch(received.toString(), /^HTTP\/1.1 400/);
});

test('what cannot be read of a request that is answered already gets no answer of its own, and what comes behind it does', async (t) => {
  const { url } = await openAdmin(t, `{ token: ${token} }`);
  for (const { rest: late, statuses } of [
    { rest: 'no chunk\r\n', statuses: [405] },
    { rest: '0\r\n\r\nno request\r\n\r\n', statuses: [405, 400] },
  ]) {
    const client = await openRaw(t, Number(new URL(url).port));
    client.write(requestBytes('POST /livez', chunkedImport));
    await client.responses(1);
    client.write(late);
    await client.receivedUntilClose();
    const answers = await client.responses();
    assert.deepEqual(
      answers.map(({ status }) => status),
      statuses,
    );
  }
});

test('connections on which nothing is asked give way to those that come, and an import under way does not', async (t) => {
  const { url, get } = await openAdmin(t, `{ token: ${token} }`);
  const port = Number(new URL(url).port);
  const importing = await openRaw(t, port);
  const rows = 'secret,plan\nforeign-key-00000001,free\n';
  const headers = [
    ['Host', 'localhost'],
    ['Authorization', `Bearer ${token}`],
    ['Content-Type', 'text/csv'],
    ['Content-Length', String(rows.length)],
    ['Expect', '100-continue'],
  ] as const;
  importing.write(requestBytes('POST /v1/import', headers));
  await importing.receivedUntil((bytes) => bytes.includes('100 Continue'));
  const idle = await Promise.all(Array.from({ length: 100 }, () => openRaw(t, port)));
  await until(() => countClosed(idle) === 37, { what: '63 left beside the import' });
  assert.ok(
    idle.slice(0, 37).every(({ closed }) => closed),
    'the oldest went',
  );
  assert.equal((await get('/livez')).status, 200);
  importing.write(rows);
  const answers = await importing.responses(1);
  assert.match(answers.at(-1)?.text ?? '', /"added":1/);
});

test('a connection that is in use gives way neither to those that have ended nor before those that are silent', async (t) => {
  const { url } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  const port = Number(new URL(url).port);
  const probe = requestBytes('GET /livez', [['Host', 'localhost']]);
  const kept = await openRaw(t, port);
  for (let ended = 0; ended < 64; ended += 1) await exchange(t, port, probe);
  kept.write(probe);
  assert.equal((await kept.responses(1)).length, 1);
  const silent: RawSocket[] = [];
  for (let opened = 0; opened < 63; opened += 1) silent.push(await openRaw(t, port));
  kept.write(probe);
  assert.equal((await kept.responses(2)).length, 2);
  await exchange(t, port, probe);
  kept.write(probe);
  assert.equal((await kept.responses(3)).length, 3);
  await until(() => countClosed(silent) === 1);
});

test('a listener that closes waits for nobody who has sent half of a request', async (t) => {
  const { url, listener } = await openAdmin(t, `{ token: ${token} }`);
  const client = await openRaw(t, Number(new URL(url).port));
  client.write(requestBytes('POST /v1/import', [...chunkedImport, ['Expect', '100-continue']]));
  await client.receivedUntil((bytes) => bytes.includes('100 Continue'));
  await listener.close();
  await client.receivedUntilClose();
});

test('clients that are refused and go on sending keep no probe out', async (t) => {
  const { url, get } = await openAdmin(t, `{ token: ${token} }`);
  const half = [
    ['Host', 'localhost'],
    ['Connection', 'close'],
    ['Content-Length', '1000'],
  ] as const;
  for (let i = 0; i < 64; i += 1) {
    const client = await openRaw(t, Number(new URL(url).port));
    client.write(requestBytes('POST /v1/keys', half, 'half'));
    await client.receivedUntil((bytes) => bytes.includes('token_required'));
  }
  assert.equal((await get('/livez')).status, 200);
});

test('a gateway that stops takes no more changes, and goes on with its probes', async (t) => {
  const { get, listener } = await openAdmin(t, `{ token: ${token} }`);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await get('/v1/keys', headers)).status, 200);
  await listener.drain();
  const answer = await get('/v1/keys', headers);
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
  assert.equal((await get('/livez')).status, 200);
});

test('a gateway that stops waits for a change that is under way', async (t) => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { get, listener, makeKey } = await openAdmin(t, `{ token: ${token} }`, () => {
    begun.resolve();
    return held.promise;
  });
  const making = makeKey();
  await begun.promise;
  let isDrained = false;
  const draining = listener.drain().then(() => (isDrained = true));
  await get('/livez');
  assert.ok(!isDrained);
  held.resolve();
  await draining;
  assert.equal((await making).status, 201);
});

test('a gateway that stops waits no longer for a change than its end may take', async (t) => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { listener, makeKey } = await openAdmin(t, `{ token: ${token} }`, () => {
    begun.resolve();
    return held.promise;
  });
  const making = makeKey();
  await begun.promise;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const draining = listener.drain();
  t.mock.timers.tick(endPatienceMs);
  await draining;
  t.mock.timers.reset();
  held.resolve();
  await making;
});

test('a fault of our own is told to the log alone', async (t) => {
  const { get, lines, told, makeKey, printed } = await openAdmin(t, `{ token: ${token} }`, () =>
    Promise.reject(new Error('what only we know')),
  );
  Object.freeze(printed); // no page can be counted
  const headers = { authorization: `Bearer ${token}` };
  const answers = [await get('/v1/keys', headers), await makeKey(), await get('/metrics', headers)];
  for (const answer of answers) {
    const said = [answer.status, await answer.json()];
    assert.deepEqual(said, [500, { error: 'Internal server error', code: 'internal' }]);
  }
  const fault = 'a fault in the admin API';
  assert.deepEqual(
    told().map(({ msg, status }) => [msg, status]),
    [
      [fault, undefined],
      ['an operator asked for a change', 500],
      [fault, undefined],
      ['a fault on the admin listener', undefined],
    ],
  );
  assert.match(lines[0] ?? '', /what only we know/);
});

test('the line of a change that is refused names its key only if there is one', async (t) => {
  const { url, told, makeKey } = await openAdmin(t, `{ token: ${token} }`);
  const { key } = (await (await makeKey()).json()) as { key: { id: string } };
  const authorization = `Bearer ${token}`;
  const ask = (change: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${url}/v1/keys/${change}`, { method: 'POST', headers: { authorization, ...headers } });
  await ask(`${key.id}/disable`, { 'if-match': '"9"' });
  await ask('perhaps-a-secret/disable');
  await ask(`${key.id}/revoke`);
  await ask(`${key.id}/enable`);
  assert.deepEqual(
    told().map(({ status, keyId }) => [status, keyId]),
    [
      [201, key.id],
      [412, key.id],
      [404, undefined],
      [200, key.id],
      [409, key.id],
    ],
  );
});

test('after a reload a key is made for the plans there are then, and a refusal is no fault', async (t) => {
  const { makeKey, reload, lines } = await openAdmin(t, `{ token: ${token} }`);
  assert.equal((await makeKey()).status, 201);
  reload(emptyConfig.replace('free', 'paid'));
  assert.equal((await makeKey()).status, 422);
  assert.doesNotMatch(lines.join(), /fault/);
});

test('a gateway that stops ends an import that is under way, which says how far it got', async (t) => {
  const { url, listener } = await openAdmin(t, `{ token: ${token} }`);
  let draining: Promise<void> | undefined;
  async function* lines(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('secret,plan\nforeign-key-00000001,free\n');
    await until(async () => (await readAudit()) === 0);
    draining = listener.drain();
    for (let line = 0; line < 1000; line += 1) {
      yield Buffer.from('foreign-key-00000002,free\n');
      await pause(1);
    }
  }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
  const readAudit = async (): Promise<number> => {
    const answer = await fetch(`${url}/v1/audit`, { headers });
    return ((await answer.json()) as { entries: unknown[] }).entries.length;
  };
  const request = {
    method: 'POST',
    headers,
    body: ReadableStream.from(lines()),
    duplex: 'half',
  } as RequestInit;
  const answer = await fetch(`${url}/v1/import`, request);
  const { code, report } = (await answer.json()) as { code: string; report: { refused: number } };
  assert.deepEqual([answer.status, code, report.refused], [503, 'stopping', 0]);
  await draining;
});

const halves: readonly { target: string; type: string; half: string }[] = [
  { target: '/v1/import', type: 'application/jsonl', half: '{"pla' },
  { target: '/v1/import', type: 'text/csv', half: 'secret,plan\nforeign-key-00000001,free\nforeign-key' },
  { target: '/v1/keys', type: 'application/json', half: '{"pla' },
  { target: '/v1/verify', type: 'application/json', half: '{"sec' },
];

for (const { target, type, half } of halves) {
  test(`a gateway that stops waits for no client that has sent half of its ${type} for ${target}`, async (t) => {
    const { get, listener } = await openAdmin(t, `{ token: ${token} }`);
    const client = await openRaw(t, listener.address.port);
    client.write(
      requestBytes(`POST ${target}`, [
        ['Host', 'localhost'],
        ['Authorization', `Bearer ${token}`],
        ['Content-Type', type],
        ['Expect', '100-continue'],
        ['Transfer-Encoding', 'chunked'],
      ]),
    );
    await client.receivedUntil((bytes) => bytes.includes('100 Continue'));
    client.write(`${half.length.toString(16)}\r\n${half}\r\n`);
    await get('/livez'); // by the time that it answers, it has read the half
    await listener.drain();
    const answer = (await client.responses(1)).at(-1);
    assert.deepEqual([answer?.status, answer?.headers['retry-after']], [503, '1']);
    assert.equal((JSON.parse(answer?.text ?? '') as { code: string }).code, 'stopping');
  });
}

const expectations: readonly [name: string, line: string, expect: string, continues: boolean][] = [
  ['who expects it', 'HTTP/1.1', '100-Continue', true],
  ['who expects something else', 'HTTP/1.1', 'something-else', false],
  // It would take an interim answer for the final one (RFC 9110 §15.2).
  ['a client of HTTP/1.0', 'HTTP/1.0', '100-continue', false],
];

for (const [name, version, expect, continues] of expectations) {
  test(`${name} is ${continues ? '' : 'not '}told to go on with the body`, async (t) => {
    const { listener } = await openAdmin(t, `{ token: ${token} }`);
    const client = await openRaw(t, listener.address.port);
    const headers = ['Host: localhost', `Authorization: Bearer ${token}`, 'Content-Type: application/json'];
    const head = [`POST /v1/verify ${version}`, ...headers, 'Content-Length: 2', `Expect: ${expect}`];
    client.write(`${head.join('\r\n')}\r\n\r\n{}`);
    await client.receivedUntil((bytes) => bytes.includes('HTTP/1.1 422 '));
    assert.equal(client.received().includes('100 Continue'), continues);
  });
}

test('a head may take ten seconds to come, and the body of an import as long as it likes', async (t) => {
  const { get } = await openAdmin(t, `{ token: ${token} }`);
  let asked: Server | undefined;
  const note = (told: unknown): void => void (asked = (told as { server: Server }).server);
  subscribe('http.server.request.start', note);
  t.after(() => unsubscribe('http.server.request.start', note));
  await get('/livez');
  assert.deepEqual([asked?.headersTimeout, asked?.requestTimeout], [10_000, 0]);
});

test('a token of the role read sees the metrics', async (t) => {
  const { get } = await openAdmin(t, `{ tokens: [{ name: prometheus, token: ${token} }] }`);
  const page = await get('/metrics', { authorization: `bearer ${token}` });
  assert.equal(page.status, 200);
  // Prometheus 3 refuses a page that does not say so.
  assert.match(page.headers.get('content-type') ?? '', /^text\/plain; version=/);
  assert.equal((await get('/metrics')).status, 401);
});

test('nothing that the listener says is kept, or taken for another type', async (t) => {
  const { get } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  for (const path of ['/livez', '/readyz', '/metrics', '/openapi.json', '/', '/v1/keys', '/nothing']) {
    const { headers } = await get(path);
    const said = ['cache-control', 'x-content-type-options', 'etag'].map((name) => headers.get(name));
    assert.deepEqual(said, ['no-store', 'nosniff', null], path);
  }
});

test('the metrics are printed once for all who ask in one turn, and anew for the next', async (t) => {
  const { url, get, printed } = await openAdmin(t, '{ listen: "127.0.0.1:9090" }');
  const client = await openRaw(t, Number(new URL(url).port));
  const request = requestBytes('GET /metrics', [['Host', 'localhost']]);
  client.write(Buffer.concat(Array.from({ length: 8 }, () => Buffer.from(request))));
  const answers = await client.responses(8);
  assert.ok(answers.every(({ text }) => text === 'numbers 1\n'));
  assert.equal(await (await get('/metrics')).text(), 'numbers 2\n');
  assert.equal(printed.pages, 2);
});
