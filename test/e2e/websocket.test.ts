import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { catalogue, type RefusalCode } from '../../src/refusals.ts';
import { commandHere } from '../helpers/command-here.ts';
import { listen } from '../helpers/listen.ts';
import { until, type Scene } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRawUpstream, type RawScript } from '../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { demoKey, startGateway, type Gateway, type LogLine } from '../helpers/start-gateway.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';

/** What stands behind each path. */
const echoPath = '/v1/echo/live';
const rawPath = '/v1/raw/live';
const plainPath = '/v1/recorded/live';
const withKey = { headers: { apiKey: demoKey } };

const handshakeKey = 'dGhlIHNhbXBsZSBub25jZQ==';
const handshake = [
  ['apiKey', demoKey],
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', handshakeKey],
] as const;
const accepted = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
const switched = `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`;

/** The handshake with some headers replaced, or taken away where the value is empty. */
function handshakeWith(...changes: readonly (readonly [name: string, value: string])[]): Buffer {
  const changed = new Map(changes);
  const headers = handshake.map(([name, value]) => [name, changed.get(name) ?? value] as const);
  const extra = changes.filter(([name]) => !handshake.some(([known]) => known === name));
  return requestBytes(
    `GET ${rawPath}`,
    [...headers, ...extra].filter(([, value]) => value !== ''),
  );
}

/** The handshake with other words in the place of some. */
function handshakeLike(words: string, others: string): string {
  return handshakeWith().toString('latin1').replace(words, others);
}

/** Longer than a machine may do something else, and than the second gateway keeps a connection that asks nothing: five seconds. */
const patienceMs = 6000;

const price = { cost: 1, costHeader: 'X-Cost' };

const scene = { after };
const echo = await startEcho(scene);
const upstream = await startRawUpstream(scene);
const recorded = await startRecordingUpstream(scene);
const ways = [
  { name: 'echo', targets: [echo.url], rule: {} },
  { name: 'one', targets: [echo.url], rule: { maxSockets: 1 } },
  { name: 'narrow', targets: [upstream.url], rule: { maxSockets: 1 } },
  { name: 'idle', targets: [echo.url], rule: { idleTimeout: '300ms' } },
  { name: 'raw', targets: [upstream.url], rule: {} },
  { name: 'second', targets: [upstream.url, 'http://127.0.0.1:1'], rule: {} },
  { name: 'recorded', targets: [recorded.url], rule: {} },
  { name: 'patient', targets: [echo.url], rule: { idleTimeout: `${patienceMs}ms` } },
  { name: 'patient-raw', targets: [upstream.url], rule: { idleTimeout: `${patienceMs}ms` } },
];
/** Of a key that pays for its sockets. */
const countedKey = 'k-counted';
const config = {
  plans: { free: {}, counted: { quotas: [{ name: 'sockets', limit: 7, per: 'lifetime' }] } },
  keys: [
    { id: 'demo', plan: 'free', secret: demoKey, owner: 'Müller' },
    { id: 'counted', plan: 'counted', secret: countedKey },
  ],
  // Sockets are bounded by their routes alone.
  upstreams: Object.fromEntries(ways.map(({ name, targets }) => [name, { targets, connections: 1 }])),
  routes: [
    { path: '/v1/plain', methods: ['GET'] },
    ...ways.map(({ name, rule }) => ({
      path: `/v1/${name}/*`,
      methods: ['GET'],
      upstream: name,
      upgrade: { websocket: rule },
    })),
    { path: '/v1/priced/*', methods: ['GET'], upstream: 'raw', upgrade: { websocket: {} }, ...price },
  ],
  drain: { timeout: '500ms' },
};
const proxy = await startTcpProxy(scene, (await startRedisServer(scene)).port);
const store = `redis://127.0.0.1:${proxy.port}`;
/** The second has a store that may be slow, keeps no connection for long, and drains in the end. */
const [gateway, slow] = await Promise.all([
  startGateway(scene, config),
  startGateway(scene, {
    ...config,
    store,
    storeDeadline: '30s',
    limits: { keepAlive: '200ms', headerTimeout: '2s' },
    drain: { timeout: '30s' },
  }),
]);

test('a WebSocket passes messages of any size both ways, and its end as well', async (t) => {
  const client = connect(t, gateway, echoPath, ['chat']);
  await once(client, 'open');
  assert.equal(client.protocol, 'chat');
  for (const size of [0, 1, 126, 70_000, 3_000_000]) {
    const message = randomBytes(size);
    client.send(message);
    const [echoed] = (await once(client, 'message')) as [Buffer];
    assert.ok(echoed.equals(message), `${size} bytes`);
  }
  client.close(4001, 'bye');
  const [code] = (await once(client, 'close')) as [number];
  assert.equal(code, 4001);
  await until(() => echo.server.clients.size === 0);
  const line = await until(() => gateway.logs().find((entry) => entry['status'] === 101));
  assert.equal(line['refusal'], undefined);
  // Frames of a client are masked, so each is four bytes longer than its echo.
  assert.ok(Number(line['bytesOut']) > 3_070_127);
  assert.ok(Number(line['bytesIn']) > Number(line['bytesOut']));
});

test('the upstream learns who calls, and never the key', async (t) => {
  const client = connect(t, gateway, echoPath);
  await once(client, 'open');
  const headers = echo.requests.at(-1);
  assert.equal(headers?.['x-gatehouse-key-id'], 'demo');
  assert.equal(headers?.['x-gatehouse-owner'], 'M%C3%BCller');
  assert.equal(headers?.['apikey'], undefined);
  assert.equal(headers?.['connection'], 'Upgrade');
});

const refused: readonly [name: string, bytes: string | Buffer, refusal: RefusalCode][] = [
  ['without a key', handshakeWith(['apiKey', '']), 'key_missing'],
  ['with a wrong key', handshakeWith(['apiKey', 'x']), 'key_invalid'],
  ['of another version', handshakeWith(['Sec-WebSocket-Version', '8']), 'upgrade_malformed'],
  ['of two versions', handshakeWith(['sec-websocket-version', '8']), 'upgrade_malformed'],
  ['of one version, said twice', handshakeWith(['sec-websocket-version', '13']), 'upgrade_malformed'],
  ['with a short handshake key', handshakeWith(['Sec-WebSocket-Key', 'abc=']), 'upgrade_malformed'],
  ['with two handshake keys', handshakeWith(['sec-websocket-key', handshakeKey]), 'upgrade_malformed'],
  ['with a body', handshakeWith(['Content-Length', '5']), 'body_unexpected'],
  ['with a body to come', handshakeWith(['Expect', '100-continue']), 'body_unexpected'],
  ['by another method', handshakeLike('GET ', 'HEAD '), 'upgrade_malformed'],
  ['in HTTP/1.0', handshakeLike('HTTP/1.1', 'HTTP/1.0'), 'upgrade_malformed'],
  ['told to a proxy alone', handshakeLike('Connection:', 'Proxy-Connection:'), 'upgrade_malformed'],
  ['on a route without upgrades', handshakeLike(rawPath, '/v1/plain'), 'upgrade_refused'],
  ['on no route', handshakeLike(rawPath, '/v1/none'), 'route_unknown'],
];

test('an upgrade that is refused gets a proper answer, and the upstream hears nothing of it', async (t) => {
  const before = upstream.received.length;
  for (const [name, bytes, refusal] of refused) {
    const raw = await openRaw(t, gateway.port);
    raw.write(bytes);
    const [answer] = await raw.responses(1);
    assert.equal(answer?.status, catalogue[refusal].status, name);
    assert.equal(answer.headers['x-gatehouse-refusal'], refusal, name);
    assert.equal(answer.headers['connection'], 'close', name);
  }
  assert.equal(upstream.received.length, before);
});

function onRecorded(...changes: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.from(
    handshakeWith(...changes)
      .toString('latin1')
      .replace(rawPath, plainPath),
  );
}

const ignored: readonly { name: string; bytes: Buffer }[] = [
  { name: 'to h2c', bytes: onRecorded(['Upgrade', 'h2c']) },
  { name: 'that is said twice', bytes: onRecorded(['upgrade', 'websocket']) },
  { name: 'to two protocols', bytes: onRecorded(['Upgrade', 'websocket, h2c']) },
  { name: 'that Connection does not announce', bytes: onRecorded(['Connection', 'keep-alive']) },
];

test('an upgrade that is not offered is ignored: the request goes on as plain HTTP, without it', async (t) => {
  for (const [i, { name, bytes }] of ignored.entries()) {
    const raw = await openRaw(t, gateway.port);
    raw.write(bytes);
    const [answer] = await raw.responses(1);
    assert.equal(answer?.status, 200, name);
    assert.ok(recorded.requests[i], name);
    assert.equal(recorded.requests[i]?.headers['upgrade'], undefined, name);
  }
});

test('what a client sends before the 101 is held until then', async (t) => {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
  const { raw, served, arrived } = await openHandshake(t, handshakeWith() + smuggled);
  raw.write('and more');
  assert.ok(!arrived().includes('smuggled'));
  served.write(`${switched}hello`);
  await until(() => arrived().endsWith(`${smuggled}and more`));
  await raw.receivedUntil((bytes) => bytes.toString().endsWith('\r\n\r\nhello'));
});

test('a client that says too much before the 101 is cut', async (t) => {
  const { raw, arrived } = await openHandshake(t);
  raw.write(Buffer.alloc(200_000));
  // Sooner than its upstream would be given up, which never answers.
  await until(() => raw.closed, { within: 20_000 });
  await nothingInFlight();
  assert.ok(!arrived().includes('\0'));
});

test('a WebSocket whose first target is away loses nothing of what its client says, before the 101 and after it', async (t) => {
  const opening = `${handshakeLike(rawPath, '/v1/second/live')}before`;
  const { raw, arrived } = await openSwitched(t, opening);
  const last = 'x'.repeat(300_000);
  raw.socket.end(last);
  await until(() => arrived().endsWith(`\r\n\r\nbefore${last}`));
  // The turn of the one that is away came first.
  await until(() => gateway.logs().find(({ target }) => target === 'http://127.0.0.1:1'));
});

test('the headers of a 101 may be as large as those of any answer, and of any bytes', async (t) => {
  const odd = `X-Name: \xdc and \xc3\x9c\r\nX-Big: ${'v'.repeat(31_000)}\r\n`;
  answerWith(t, (socket) => void socket.write(switched.replace('\r\n', `\r\n${odd}`), 'latin1'));
  const raw = await openRaw(t, gateway.port);
  raw.write(handshakeWith());
  const [answer] = await raw.responses(1);
  assert.equal(answer?.status, 101);
  assert.ok(raw.received().includes(odd, 'latin1'));
});

const nonsense: readonly { name: string; answer: string; status: number }[] = [
  {
    name: 'a 101 for another key',
    answer: 'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n',
    status: 502,
  },
  {
    name: 'a 101 to another protocol',
    answer: `HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`,
    status: 502,
  },
  { name: 'a 101 in the version HTTP/2.0', answer: switched.replace('1.1', '2.0'), status: 502 },
  {
    name: 'a chunked 404',
    answer: 'HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n',
    status: 404,
  },
  { name: 'a 200', answer: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno', status: 200 },
  { name: 'rubbish', answer: 'what?\r\n\r\n', status: 502 },
];
for (const { name, answer, status } of nonsense) {
  test(`${name} to an upgrade is answered in HTTP, and no byte of the client follows it`, async (t) => {
    const at = upstream.received.length;
    answerWith(t, (socket) => void socket.write(answer));
    const raw = await openRaw(t, gateway.port);
    raw.write(Buffer.concat([handshakeWith(), Buffer.from('frames')]));
    const [response] = await raw.responses(1);
    assert.equal(response?.status, status);
    if (status < 500) assert.equal(response.text, 'no');
    await raw.receivedUntilClose();
    assert.ok(!upstream.received[at]?.includes('frames'));
  });
}

test('a connection on which an upgrade was answered in HTTP is used for no other', async (t) => {
  const before = upstream.received.length;
  answerWith(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'));
  for (let turn = 0; turn < 2; turn += 1) {
    const raw = await openRaw(t, gateway.port);
    raw.write(handshakeWith());
    assert.equal((await raw.responses(1))[0]?.text, 'no');
  }
  assert.equal(upstream.received.length, before + 2);
});

test('an answer to an upgrade passes whole, however large', async (t) => {
  const length = 4 * 1024 * 1024;
  answerWith(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
    socket.write(Buffer.alloc(length));
  });
  const raw = await openRaw(t, gateway.port);
  raw.write(handshakeWith());
  const [response] = await raw.responses(1);
  assert.deepEqual([response?.status, response?.body.length], [200, length]);
});

test('the log tells an answer to an upgrade that breaks off from none', async (t) => {
  answerWith(t, (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart'));
  const raw = await openRaw(t, gateway.port);
  raw.write(handshakeWith());
  await raw.receivedUntilClose();
  const line = await until(() => gateway.logs().find(({ cut }) => cut === 'upstream'));
  assert.match(String((line['cause'] as { message?: unknown }).message), /aborted/);
});

test('no more sockets are open than the route allows, of which the log tells, and a closed one makes room', async (t) => {
  const path = '/v1/one/live';
  const first = connect(t, gateway, path);
  await once(first, 'open');
  const second = connect(t, gateway, path);
  const [, response] = (await once(second, 'unexpected-response')) as [unknown, { statusCode: number }];
  assert.equal(response.statusCode, 503);
  const line = await until(() => gateway.logs().find(({ refusal }) => refusal === 'overloaded'));
  assert.equal((line['cause'] as { message?: unknown }).message, 'maxSockets of the route is reached');
  first.close();
  await once(first, 'close');
  const third = connect(t, gateway, path);
  await once(third, 'open');
});

test('an upgrade that the upstream does not take keeps no place, also while its client leaves its side open', async (t) => {
  answerWith(t, (socket) => void socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n'));
  const bytes = handshakeLike(rawPath, '/v1/narrow/live');
  for (let turn = 0; turn < 3; turn += 1) {
    const client = connectTcp({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => client.destroy());
    client.write(bytes, 'latin1');
    const [answer] = (await once(client, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 401 /);
  }
});

test('a client that leaves before the 101 has the connection to the upstream end in order: a reset would end many a server', async (t) => {
  const { promise: end, resolve } = Promise.withResolvers<unknown>();
  answerWith(t, (socket) => {
    socket.once('end', () => resolve('in order'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
  const before = upstream.received.length;
  const client = await openRaw(t, gateway.port);
  client.write(handshakeWith());
  await until(() => upstream.received.length > before);
  client.socket.destroy();
  assert.equal(await end, 'in order');
});

test('sockets on which nobody says anything are closed on both sides', async (t) => {
  const client = connect(t, gateway, '/v1/idle/live');
  await once(client, 'open');
  await once(client, 'close');
  await until(() => echo.server.clients.size === 0);
});

test('a silent socket lasts as long as its route says, not as long as an idle connection, and longer while one side says something', async (t) => {
  const opening = handshakeLike(rawPath, '/v1/patient-raw/live');
  const { raw: speaker } = await openSwitched(t, opening, slow);
  const { raw: listener, served: speaking } = await openSwitched(t, opening, slow);
  const askedAt = performance.now();
  const silent = connect(t, slow, '/v1/patient/live');
  await once(silent, 'open');
  await until(() => {
    speaker.write('x');
    speaking.write('x');
    return silent.readyState === WebSocket.CLOSED;
  });
  assert.ok(performance.now() - askedAt >= patienceMs);
  assert.deepEqual([speaker.closed, listener.closed], [false, false]);
});

for (const side of ['client', 'upstream'] as const) {
  test(`when the ${side} ends, what is left passes both ways, and both are closed though the other does not end`, async (t) => {
    await until(() => upstream.sockets.size === 0, { what: 'the sockets of other tests to be gone' });
    const { raw, served, arrived } = await openSwitched(t);
    for (const socket of [raw.socket, served]) socket.allowHalfOpen = true;
    t.after(() => void served.destroy());
    const last = 'x'.repeat(300_000);
    if (side === 'client') {
      raw.socket.end(last);
      await until(() => arrived().endsWith(last));
      served.write('and bye');
      await raw.receivedUntil((bytes) => bytes.toString().endsWith('and bye'));
    } else {
      served.end(last);
      await raw.receivedUntil((bytes) => bytes.toString().endsWith(last));
      raw.write('and bye');
      await until(() => arrived().endsWith('and bye'));
    }
    await raw.receivedUntilClose();
    await nothingInFlight();
  });
}

test('each socket is charged, however it ends, until the quota is used up', async (t) => {
  await until(() => upstream.sockets.size === 0, { what: 'the sockets of other tests to be gone' });
  const counted = { headers: { apiKey: countedKey } };
  const ends: readonly { path: string; end: (client: WebSocket) => void }[] = [
    { path: echoPath, end: (client) => client.close() },
    { path: echoPath, end: (client) => client.terminate() },
    { path: echoPath, end: () => echo.server.clients.forEach((client) => client.terminate()) },
    { path: '/v1/idle/live', end: () => {} },
  ];
  for (const { path, end } of ends) {
    const client = connect(t, gateway, path, [], counted);
    await once(client, 'open');
    end(client);
    await once(client, 'close');
  }
  const priced = handshakeWith(['apiKey', countedKey]).toString('latin1').replace(rawPath, '/v1/priced/live');
  const { raw, served } = await openHandshake(t, priced);
  served.write(switched.replace('\r\n\r\n', '\r\nX-Cost: 3 \r\n\r\n'));
  const answer = await raw.receivedUntil((bytes) => bytes.includes('\r\n\r\n'));
  assert.ok(!answer.toString().includes('X-Cost'));
  raw.socket.destroy();
  const opened = () => gateway.logs().filter(({ keyId, status }) => keyId === 'counted' && status === 101);
  await until(() => opened().length === 5);
  const another = connect(t, gateway, echoPath, [], counted);
  const [, denied] = (await once(another, 'unexpected-response')) as [unknown, IncomingMessage];
  assert.equal(denied.headers['x-gatehouse-refusal'], 'quota_exhausted');
});

const leavings = {
  ends: (socket: Socket) => socket.end(),
  'is reset': (socket: Socket) => socket.resetAndDestroy(),
};

/** By the time that it has answered some others it has read what came before. */
async function allIsRead(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await slow.inFlight();
}

function goneWhileSlow(): number {
  return logged(({ refusal }) => refusal === 'client_gone');
}

function logged(isMeant: (line: LogLine) => boolean): number {
  return slow.logs().filter(isMeant).length;
}

for (const [how, leave] of Object.entries(leavings)) {
  test(`a socket that ${how} while its key is looked up keeps no place`, async (t) => {
    // One that is not known yet.
    const make = ['keys', 'create', '--plan', 'free', '--quiet', '--config', slow.configFile];
    const known = ['apiKey', (await commandHere(make)).stdout.trim()] as const;
    const bytes = handshakeWith(known).toString('latin1').replace(rawPath, '/v1/one/live');
    const before = goneWhileSlow();
    proxy.answers = 'hold';
    t.after(() => (proxy.answers = 'pass'));
    const hasty = await openRaw(t, slow.port);
    hasty.write(bytes);
    await until(async () => (await slow.inFlight()) === 1);
    leave(hasty.socket);
    await allIsRead();
    proxy.answers = 'pass';
    await until(() => goneWhileSlow() === before + 1);
    const next = await openRaw(t, slow.port);
    next.write(bytes);
    await next.receivedUntil((answer) => answer.includes('HTTP/1.1 101'));
    next.socket.destroy();
    await until(async () => (await slow.inFlight()) === 0);
  });
}

const bodiesOfUpgrades = {
  'no body': '\r\n',
  'a body that is there': 'Content-Length: 5\r\n\r\nhello',
  'a body of which nothing comes': 'Content-Length: 5\r\n\r\n',
  'a body that breaks off': 'Content-Length: 5\r\n\r\nhel',
  'a body in chunks that is there': 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'a body in chunks that breaks off': 'Transfer-Encoding: chunked\r\n\r\n5\r\nhel',
  'a body that makes no sense': 'Transfer-Encoding: chunked\r\n\r\nx',
};
/** Since 26.0 Node hands an upgrade whose body is still to come over as a stream of its own, and not as the socket. */
for (const [how, leave] of Object.entries(leavings)) {
  for (const version of ['1.0', '1.1']) {
    test(`an upgrade of HTTP/${version} with any body that ${how} while its key is looked up ends itself and nothing else`, async (t) => {
      proxy.answers = 'hold';
      t.after(() => (proxy.answers = 'pass'));
      const path = `/v1/raw/${how.replace(' ', '-')}/${version}`;
      // What is malformed has no path in the log.
      const told = (): number =>
        logged((line) => 'status' in line && [path, undefined].includes(line['path'] as string));
      const before = told();
      const all = Object.values(bodiesOfUpgrades).map(async (body) => {
        const raw = await openRaw(t, slow.port);
        // One that nobody has asked for yet, so that the store is asked.
        const head = `GET ${path} HTTP/${version}\r\nHost: a\r\napiKey: ${randomUUID()}\r\n`;
        raw.write(`${head}Upgrade: websocket\r\nConnection: Upgrade\r\n${body}`);
        return raw.socket;
      });
      const sockets = await Promise.all(all);
      await allIsRead();
      for (const socket of sockets) leave(socket);
      await allIsRead();
      proxy.answers = 'pass';
      await until(() => told() === before + sockets.length);
      await until(async () => (await slow.inFlight()) === 0);
      assert.equal(
        logged(({ level }) => level === 'fatal' || level === 'error'),
        0,
      );
    });
  }
}

test('a drain closes open sockets on both sides, and waits for the answer to an upgrade as to any other request', async (t) => {
  const quiet = connect(t, slow, echoPath);
  await once(quiet, 'open');
  const raws = await Promise.all([openRaw(t, slow.port), openRaw(t, slow.port)]);
  const arrived = upstream.received.length;
  for (const raw of raws) raw.write(handshakeWith());
  await until(
    () => upstream.received.slice(arrived).filter((bytes) => bytes?.includes('\r\n\r\n')).length === 2,
  );
  const startedAt = performance.now();
  slow.child.kill('SIGTERM');
  await once(quiet, 'close'); // what is open and quiet is closed by now
  assert.ok(performance.now() - startedAt < 30_000);
  const [first, second] = [...upstream.sockets].slice(-2);
  first?.write(switched);
  second?.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
  await until(() => raws.some((raw) => raw.received().includes('HTTP/1.1 101')));
  await until(() => raws.some((raw) => raw.received().includes('late')));
  assert.deepEqual(await slow.exited, { code: 0, signal: null });
  await until(() => echo.server.clients.size === 0);
});

test('resets at every phase of an upgrade end no process and leave no socket', async (t) => {
  await until(() => upstream.sockets.size === 0, { what: 'the sockets of other tests to be gone' });
  for (const phase of ['before', 'after'] as const) {
    for (const side of ['client', 'upstream'] as const) {
      for (let turn = 0; turn < 4; turn += 1) {
        const { raw, served } = await (phase === 'after' ? openSwitched(t) : openHandshake(t));
        (side === 'client' ? raw.socket : served).resetAndDestroy();
        await until(() => upstream.sockets.size === 0, { what: phase + side });
        await until(() => raw.closed);
      }
    }
  }
  await nothingInFlight();
});

test('a plain request to a route with upgrades is a plain request', async () => {
  assert.equal((await fetch(`${gateway.url}${plainPath}`, withKey)).status, 200);
});

// The last, because it ends the gateway of the others.
test('a drain that somebody keeps talking through is bounded', async (t) => {
  const client = connect(t, gateway, echoPath);
  await once(client, 'open');
  const talk = setInterval(() => client.readyState === WebSocket.OPEN && client.send('x'), 50);
  t.after(() => clearInterval(talk));
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
  const line = gateway.logs().findLast(({ path }) => path === echoPath);
  assert.deepEqual([line?.['status'], line?.['cut']], [101, 'gateway']);
});

/** Has the raw upstream do this with each handshake until the test is over. */
function answerWith(t: TestContext, script: RawScript): void {
  upstream.script = script;
  t.after(() => (upstream.script = () => undefined));
}

/** Sends an opening, and waits until it has reached the raw upstream, on its last connection. */
async function openHandshake(t: TestContext, bytes: string | Buffer = handshakeWith(), { port } = gateway) {
  const at = upstream.received.length;
  const raw = await openRaw(t, port);
  raw.write(bytes);
  await until(() => upstream.received[at]?.includes('\r\n\r\n'));
  const served = [...upstream.sockets].at(-1);
  assert.ok(served);
  return { raw, served, arrived: () => upstream.received[at]?.toString('latin1') ?? '' };
}

/** The same, switched to a WebSocket. */
async function openSwitched(...opening: Parameters<typeof openHandshake>) {
  const opened = await openHandshake(...opening);
  opened.served.write(switched);
  await opened.raw.receivedUntil((bytes) => bytes.includes('101'));
  return opened;
}

async function nothingInFlight(): Promise<void> {
  await until(async () => (await gateway.inFlight()) === 0, { what: 'nothing in flight' });
}

async function startEcho(t: Scene) {
  const http = createServer();
  const requests: NodeJS.Dict<string | string[]>[] = [];
  const server = new WebSocketServer({ server: http });
  server.on('connection', (socket, req) => {
    requests.push(req.headers);
    socket.on('message', (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));
    socket.on('error', () => {});
  });
  t.after(() => {
    for (const client of server.clients) client.terminate();
  });
  return { server, requests, url: `http://127.0.0.1:${await listen(t, http)}` };
}

function connect(
  t: TestContext,
  { port }: Gateway,
  path: string,
  protocols: string[] = [],
  options = withKey,
): WebSocket {
  const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, options);
  client.on('error', () => {});
  t.after(() => client.terminate());
  return client;
}
