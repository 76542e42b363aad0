import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createBufferedLane } from '../../../../src/upstream/buffered/buffered-lane.ts';
import { RequestHead } from '../../../../src/upstream/buffered/request-head.ts';
import { TargetConnection } from '../../../../src/upstream/buffered/target-connection.ts';
import { type Connector, createConnector, createTrust } from '../../../../src/upstream/connect.ts';
import { ExchangeFailed } from '../../../../src/upstream/exchange.ts';
import { failureKind } from '../../../../src/upstream/failures.ts';
import type { Relay } from '../../../../src/upstream/relay.ts';
import { Seats } from '../../../../src/upstream/seats.ts';
import { allIsRead, turnsSoFar } from '../../../../src/waiting/when-all-is-read.ts';
import { openBlackHole } from '../../../helpers/black-hole.ts';
import { makeCertificate } from '../../../helpers/certificates.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { listen } from '../../../helpers/listen.ts';
import { until } from '../../../helpers/poll.ts';
import { noProgress } from '../../../helpers/progress.ts';
import { startRawUpstream, type RawScript } from '../../../helpers/raw-upstream.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const timeouts = { connectMs: 5000, responseMs: 5000, idleMs: 5000 };

const noRequest = { body: Buffer.alloc(0), alone: false, leaves: false };

interface Asked {
  /** Undefined when there was an answer. */
  readonly failure: Error | undefined;
  readonly text: string;
}

interface SceneOptions {
  readonly wrap?: (connect: Connector) => Connector;
  readonly seats?: number;
  readonly responseMs?: number;
  readonly afterSend?: () => void;
}

/** An upstream and a lane to it. */
async function startLane(t: TestContext, script: RawScript, options: SceneOptions = {}) {
  const upstream = await startRawUpstream(t, script);
  const connect = createConnector(new URL(upstream.url), timeouts.connectMs, {});
  return { upstream, ...(await openLane(t, connect, options)) };
}

/** A lane behind a server that passes on what it is asked. */
async function openLane(
  t: TestContext,
  connect: Connector,
  { wrap, seats: count = 8, responseMs = timeouts.responseMs, afterSend }: SceneOptions = {},
) {
  const seats = new Seats(count);
  const lane = createBufferedLane(wrap?.(connect) ?? connect, { ...timeouts, responseMs }, seats);
  t.after(() => lane.close());
  const coming: { request: typeof noRequest; resolve: (failure?: Error) => void }[] = [];
  const port = await listen(
    t,
    createServer((_req, res) => {
      const { request, resolve } = coming.shift()!;
      const { leaves, ...asked } = request;
      const listener = {
        connected: ignore,
        begin: ignore,
        resolve,
        reject: (failure: Error) => (resolve(failure), res.destroy()),
      };
      const headers = ['content-length', String(request.body.length)];
      const parts = {
        ourHeaders: () => [],
        costHeader: undefined,
        whenWhole: undefined,
        progress: noProgress(),
        listener,
      };
      const head = new RequestHead({ method: 'POST', path: '/', host: 'a', headers });
      lane.send({ head, ...asked }, res, parts);
      if (leaves) res.emit('close');
      afterSend?.();
    }),
  );
  const ask = async ({
    signal,
    ...over
  }: Partial<typeof noRequest> & { signal?: AbortSignal } = {}): Promise<Asked> => {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    coming.push({ request: { ...noRequest, ...over }, resolve });
    const answer = fetch(`http://127.0.0.1:${port}/`, signal === undefined ? {} : { signal });
    const text = await answer.then((whole) => whole.text()).catch(() => 'nothing');
    return { failure: await promise, text };
  };
  return { lane, ask, seats };
}

for (const size of [0, 1, 16_384, 16_385, 65_536]) {
  test(`a body of ${size} bytes arrives byte by byte as it was, and its connection is used again`, async (t) => {
    const { upstream, ask } = await startLane(t, (socket) => void socket.write(ok));
    const body = randomBytes(size);
    for (let turn = 0; turn < 2; turn += 1) assert.equal((await ask({ body })).text, 'ok');
    const [first = Buffer.alloc(0)] = upstream.received;
    assert.equal(upstream.received.length, 1);
    assert.ok(first.subarray(first.length - size).equals(body));
    assert.ok(first.subarray(0, first.length / 2).equals(first.subarray(first.length / 2)));
  });
}

test('a connection is used again until the upstream says that it closes it', async (t) => {
  let answers = 0;
  const { upstream, ask } = await startLane(t, (socket) => {
    answers += 1;
    socket.write(answers % 3 === 0 ? ok.replace('\r\n', '\r\nConnection: close\r\n') : ok);
  });
  for (let turn = 0; turn < 6; turn += 1) assert.equal((await ask()).text, 'ok');
  assert.equal(upstream.received.length, 2);
  await until(() => upstream.sockets.size === 0);
});

test('a repeat has a connection of its own, says so, and leaves none behind', async (t) => {
  const { upstream, ask } = await startLane(t, (socket) => void socket.write(ok));
  await ask();
  await ask({ alone: true });
  for (let turn = 0; turn < 2; turn += 1) await ask();
  assert.deepEqual(upstream.received.map(countRequests), [3, 1]);
  assert.match(String(upstream.received[0]), /\r\nconnection: keep-alive\r\n/);
  assert.match(String(upstream.received[1]), /\r\nconnection: close\r\n/);
  await until(() => upstream.sockets.size === 1);
});

test('of a connection that the upstream keeps for three seconds only one is used, and then it is closed', async (t) => {
  const { upstream, ask } = await startLane(
    t,
    (socket) => void socket.write(ok.replace('\r\n', '\r\nKeep-Alive: timeout=3\r\n')),
  );
  // A slow machine is slow now and then; what is never used again, or is closed late, is so each time.
  await until(async () => {
    const before = upstream.received.length;
    await ask();
    const from = performance.now();
    await ask();
    await until(() => upstream.sockets.size === 0);
    const tookMs = performance.now() - from;
    assert.ok(tookMs > 900, `${tookMs} ms`);
    return upstream.received.length === before + 1 && tookMs < 2900;
  });
});

test('a connection that the upstream is about to close is not used again', async (t) => {
  const { upstream, ask } = await startLane(
    t,
    (socket) => void socket.write(ok.replace('\r\n', '\r\nKeep-Alive: timeout=2\r\n')),
  );
  await ask();
  await ask();
  assert.equal(upstream.received.length, 2);
});

test('a connection on which some of the request is still on its way is not used again', async (t) => {
  const { upstream, ask } = await startLane(t, (socket) => void socket.write(ok), {
    wrap: (connect) => (whenConnected, whenFailed, onBytes) =>
      connect(
        (socket) => {
          Object.defineProperty(socket, 'writableLength', { value: 1 });
          whenConnected(socket);
        },
        whenFailed,
        onBytes,
      ),
  });
  for (let turn = 0; turn < 2; turn += 1) assert.equal((await ask()).text, 'ok');
  assert.equal(upstream.received.length, 2);
});

test('a connection that speaks unasked while it is idle is closed', async (t) => {
  let idle: Socket | undefined;
  const { upstream, ask } = await startLane(t, (socket) => {
    idle = socket;
    socket.write(ok);
  });
  await ask();
  idle?.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong');
  await until(() => upstream.sockets.size === 0);
  assert.equal((await ask()).text, 'ok');
  assert.equal(upstream.received.length, 2);
});

test('a connection on which more came than the answer is closed', async (t) => {
  const { upstream, ask } = await startLane(t, (socket) => void socket.write(`${ok}HTTP/1.1 2`));
  for (let turn = 0; turn < 2; turn += 1) assert.equal((await ask()).text, 'ok');
  assert.equal(upstream.received.length, 2);
});

for (const [name, brings, isStale] of [
  ['without a byte', '', true],
  ['after a part of its answer', 'HTTP/1.1 2', false],
] as const) {
  test(`a kept connection that ends ${name} is ${isStale ? '' : 'not '}told of as one that was closed already`, async (t) => {
    let asked = 0;
    const { ask } = await startLane(t, (socket) => {
      asked += 1;
      if (asked === 1) socket.write(ok);
      else socket.end(brings);
    });
    await ask();
    const { failure } = await ask();
    assert.ok(failure instanceof ExchangeFailed);
    assert.equal(failure.silent, isStale);
    // On a connection that was not used before it is no more than an answer that failed.
    const fresh = (await ask()).failure;
    assert.ok(fresh instanceof ExchangeFailed);
    assert.equal(fresh.silent, false);
  });
}

test('of a request for which a kept connection was closed a moment too early nothing was sent', async (t) => {
  const kept: Socket[] = [];
  let asked = 0;
  const { ask } = await startLane(t, (socket) => void (kept.push(socket), socket.write(ok)), {
    afterSend() {
      asked += 1;
      // After the lane has read what came, and before it writes.
      if (asked === 2) void allIsRead().then(() => kept[0]?.resetAndDestroy());
    },
  });
  await ask();
  const { failure } = await ask();
  assert.ok(failure instanceof ExchangeFailed);
  assert.deepEqual([failure.silent, failure.sent], [true, false]);
});

test('of a request whose client leaves at once nothing is sent, and its seat comes free', async (t) => {
  const { upstream, ask } = await startLane(t, (socket) => void socket.write(ok));
  for (let turn = 0; turn < 20; turn += 1) await ask({ leaves: true });
  assert.equal((await ask()).text, 'ok');
  assert.equal(String(Buffer.concat(upstream.received)).match(/POST \//g)?.length, 1);
});

test('of many requests that may leave in one turn of the event loop 32 do, and the others in the next', async (t) => {
  const departures: number[] = [];
  const wrap =
    (connect: Connector): Connector =>
    (...args) => {
      departures.push(turnsSoFar());
      connect(...args);
    };
  const { ask, seats } = await startLane(t, (socket) => void socket.write(ok), { wrap, seats: 40 });
  const others = Array.from({ length: 40 }, () => ({ hasSeat: false, spot: undefined, turnAway: ignore }));
  for (const other of others) seats.take(other, ignore);
  const asked = others.map(() => ask());
  await until(() => seats.ahead === 41);
  for (const other of others) seats.leave(other);
  for (const { text } of await Promise.all(asked)) assert.equal(text, 'ok');
  const [first = 0] = departures;
  assert.deepEqual(
    departures.map((turn) => turn - first),
    others.map((_, at) => (at < 32 ? 0 : 1)),
  );
});

test('who waits in line for as long as an answer may take gives up its place there', async (t) => {
  const { ask, seats } = await startLane(t, ignore, { seats: 1, responseMs: 50 });
  seats.take({ hasSeat: false, spot: undefined, turnAway: ignore }, ignore);
  const { failure } = await ask({ signal: AbortSignal.timeout(10_000) });
  assert.ok(failure instanceof ExchangeFailed);
  assert.equal(failure.message, 'no connection became free within 50 ms');
  assert.equal(failureKind(failure.cause, failure.sent), 'timeout');
  assert.ok(failure.inLine);
  assert.equal(seats.ahead, 1);
});

test('the time in line, or for an answer, does not run while a connection is being made', async (t) => {
  const target = new URL(`http://127.0.0.1:${await openBlackHole(t)}`);
  const connect = createConnector(target, 600, {});
  const { ask, seats } = await openLane(t, connect, { seats: 1, responseMs: 300 });
  const other = { hasSeat: false, spot: undefined, turnAway: ignore };
  seats.take(other, ignore);
  const asked = ask({ signal: AbortSignal.timeout(10_000) });
  await until(() => seats.ahead === 2);
  seats.leave(other);
  const { failure } = await asked;
  assert.equal(failure?.message, 'no connection within 600 ms');
});

test('what an upstream sends right behind an answer is not given to who comes next', async (t) => {
  const poison = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';
  let isPoisoned = false;
  const { upstream, ask } = await startLane(t, (socket) => void socket.write(ok), {
    seats: 1,
    wrap: (connect) => (whenConnected, whenFailed, onBytes) =>
      connect(whenConnected, whenFailed, (bytes) => {
        // After the answer was read, and before who stands in line is sent in the same turn.
        if (!isPoisoned) setImmediate(() => [...upstream.sockets][0]?.write(poison));
        isPoisoned = true;
        onBytes?.(bytes);
      }),
  });
  const answers = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual(
    answers.map(({ text }) => text),
    ['ok', 'ok', 'ok'],
  );
  assert.equal(upstream.received.length, 2);
});

test('connections to an https target are kept by a process that has much to do', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const url = new URL(`https://127.0.0.1:${await startTlsProcess(t, certificate)}`);
  let connections = 0;
  const { ask } = await openLane(t, createConnector(url, 5000, createTrust(certificate.cert)), {
    wrap:
      (connect) =>
      (...asked) => {
        connections += 1;
        connect(...asked);
      },
    // Behind what is sent in the same turn: the answer has come when the next one begins.
    afterSend: () => setImmediate(() => holdUp(3)),
  });
  for (let turn = 0; turn < 20; turn += 1) assert.equal((await ask()).text, 'ok');
  assert.equal(connections, 1);
});

test('a lane that is closed keeps no connection, and what is under way goes on to its end', async (t) => {
  const asked: Socket[] = [];
  const { upstream, lane, ask } = await startLane(t, (socket) => void asked.push(socket));
  const both = [ask(), ask()];
  await until(() => asked.length === 2);
  asked[0]?.write(ok);
  assert.equal((await both[0])?.text, 'ok');
  lane.close();
  await until(() => upstream.sockets.size === 1);
  asked[1]?.write(ok);
  assert.equal((await both[1])?.text, 'ok');
  await until(() => upstream.sockets.size === 0);
  // And it takes what is still to come: that was in line, or had begun before.
  const late = ask();
  await until(() => asked.length === 3);
  asked[2]?.write(ok);
  assert.equal((await late).text, 'ok');
  await until(() => upstream.sockets.size === 0);
});

for (const [name, closes] of [
  ['is used by the next', false],
  ['is closed when its lane is', true],
] as const) {
  test(`a connection that is made for a request that was given up meanwhile ${name}, and its seat comes free`, async (t) => {
    let connects: (() => void) | undefined;
    const { upstream, lane, ask, seats } = await startLane(t, (socket) => void socket.write(ok), {
      seats: 1,
      wrap: (connect) => (whenConnected, whenFailed, onBytes) =>
        connect((socket) => (connects = () => whenConnected(socket)), whenFailed, onBytes),
    });
    const client = new AbortController();
    const given = ask({ signal: client.signal });
    await until(() => connects !== undefined);
    client.abort();
    assert.ok((await given).failure instanceof Error);
    if (closes) lane.close();
    connects?.();
    assert.equal(seats.ahead, 0);
    if (closes) await until(() => upstream.sockets.size === 0);
    else assert.equal((await ask()).text, 'ok');
    // What was given up has not been sent.
    const sent = String(upstream.received[0] ?? '').match(/POST \//g) ?? [];
    assert.equal(sent.length, closes ? 0 : 1);
  });
}

test('a connection that was made for a request that was given up may be closed under the next, as any that is kept', async (t) => {
  let connects: (() => void) | undefined;
  const { ask } = await startLane(t, (socket) => void socket.end(), {
    wrap: (connect) => (whenConnected, whenFailed, onBytes) =>
      connect((socket) => (connects = () => whenConnected(socket)), whenFailed, onBytes),
  });
  const client = new AbortController();
  const given = ask({ signal: client.signal });
  await until(() => connects !== undefined);
  client.abort();
  await given;
  connects?.();
  const { failure } = await ask();
  assert.ok(failure instanceof ExchangeFailed);
  assert.equal(failure.silent, true);
});

test('seats come free however a request ends', async (t) => {
  const ways: RawScript[] = [
    (socket) => void socket.write(ok),
    (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'),
    (socket) => void socket.end(),
    (socket) => void socket.resetAndDestroy(),
    (socket) => void socket.write('nonsense'),
    (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut'),
  ];
  let turn = 0;
  const { ask, seats } = await startLane(t, (...asked) => ways[turn % ways.length]?.(...asked));
  for (; turn < 3 * ways.length; turn += 1) await ask();
  const guests = Array.from({ length: 8 }, () => ({
    hasSeat: false,
    spot: undefined,
    turnAway: () => undefined,
  }));
  let seated = 0;
  for (const guest of guests) seats.take(guest, () => (seated += 1));
  assert.equal(seated, 8);
});

test('a connection that was paused at the end of an answer reads the next one', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(ok));
  const connect = createConnector(new URL(upstream.url), 5000, {});
  let answered = 0;
  const home = {
    answered: (connection: TargetConnection) => {
      answered += 1;
      if (answered < 3) askToPause(connection);
    },
    closed: (): void => undefined,
  };
  let opened: TargetConnection | undefined;
  TargetConnection.open(connect, home, (made) => askToPause((opened = made)), assert.fail);
  await until(() => answered === 3);
  assert.equal(upstream.received.length, 1);
  opened?.close();
});

test('a connection that is given up at the last piece of an answer is closed, and kept for nobody', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(ok));
  const connect = createConnector(new URL(upstream.url), 5000, {});
  const told: string[] = [];
  const home = { answered: () => void told.push('answered'), closed: () => void told.push('closed') };
  TargetConnection.open(connect, home, askToGiveUp, assert.fail);
  await until(() => told.length > 0);
  assert.deepEqual(told, ['closed']);
});

/** Asks for a client that takes nothing. */
function askToPause(connection: TargetConnection): void {
  askOn(connection, () => connection.pause());
}

/** Asks for a client to whom the answer cannot be sent on. */
function askToGiveUp(connection: TargetConnection): void {
  askOn(connection, () => connection.abort(new Error('it cannot be sent on')));
}

function askOn(connection: TargetConnection, answerGoesOn: () => void): void {
  const relay = {
    connected: () => undefined,
    requestSent: () => undefined,
    answerBegins: () => undefined,
    answerGoesOn,
  };
  const head = new RequestHead({ method: 'GET', path: '/', host: 'a', headers: [] });
  connection.ask({ head, body: Buffer.alloc(0), alone: false }, relay as unknown as Relay);
}

/** A server in a process of its own, which answers while this one is busy. */
async function startTlsProcess(t: TestContext, certificate: object): Promise<number> {
  const script = `
    const server = require('node:tls').createServer(JSON.parse(process.env.CERTIFICATE), (socket) =>
      socket.on('error', () => undefined).on('data', () => socket.write(${JSON.stringify(ok)})));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const env = { ...process.env, CERTIFICATE: JSON.stringify(certificate) };
  const child = spawn(process.execPath, ['-e', script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(line.toString());
}

function countRequests(bytes: Buffer): number {
  return String(bytes).split(' HTTP/1.1\r\n').length - 1;
}

function ignore(): void {}
