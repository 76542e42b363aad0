import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Limits } from '../../../src/config/config.ts';
import { Connections } from '../../../src/door/connections.ts';
import { Visit } from '../../../src/visit.ts';
import { turnsSoFar } from '../../../src/waiting/when-all-is-read.ts';
import { parseWhileOpen } from '../../../src/wire/parse-while-open.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { keepJammed } from '../../helpers/keep-jammed.ts';
import { listen } from '../../helpers/listen.ts';
import { parseResponses } from '../../helpers/parse-responses.ts';
import { until, type Scene } from '../../helpers/poll.ts';
import { openRaw, requestBytes } from '../../helpers/raw-socket.ts';

/** A server whose connections are bounded. */
async function startServer(
  t: Scene,
  bounds: Pick<Limits, 'inFlight' | 'inFlightPerConnection'>,
  answer: (leave: () => void, res: ServerResponse) => void,
): Promise<{ readonly connections: Connections; readonly port: number; readonly server: Server }> {
  const connections = new Connections({ connections: 9, ...bounds } as Limits);
  const server = createServer((req, res) => {
    req.visit = new Visit('id', { peer: '', client: '', trusted: false });
    answer(connections.enter(res, connections.of(res.req.socket)), res);
  });
  server.on('connection', (socket) => {
    const connection = connections.opened(socket);
    parseWhileOpen(socket, () => connections.takesMore(connection));
  });
  return { connections, port: await listen(t, server), server };
}

test('nothing is left only when every request has been settled, and not as soon as its connection is gone', async (t) => {
  let leave: (() => void) | undefined;
  const bounds = { inFlight: 1, inFlightPerConnection: 1 };
  const { connections, port } = await startServer(t, bounds, (done) => (leave = done));
  const client = await openRaw(t, port);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => leave);
  client.socket.destroy();
  await until(() => connections.count === 0);
  t.mock.method(performance, 'now', () => 0); // or a busy machine may run out of patience
  let isGone = false;
  const gone = connections.gone().then(() => (isGone = true));
  await nextTurn();
  assert.ok(!isGone);
  leave?.();
  await gone;
});

test('a connection that Node reads no further, as it takes no answers, is not read on for a look at its time', async (t) => {
  const bounds = { inFlight: 1, inFlightPerConnection: 1 };
  const { connections, port, server } = await startServer(t, bounds, (leave) => leave());
  const connected = once(server, 'connection') as Promise<[Socket]>;
  await openRaw(t, port);
  const [socket] = await connected;
  socket.pause();
  await new Promise<void>((judge) => connections.whenRead(socket, judge));
  assert.ok(socket.isPaused());
});

for (const { how, read } of [
  { how: 'half was taken', read: (req: IncomingMessage) => void req.read(3) },
  { how: 'none was read', read: () => undefined },
  {
    how: 'half was read, by a reader that stopped',
    read: (req: IncomingMessage) => void req.once('data', () => req.pause()),
  },
]) {
  test(`a connection does not keep a request that it has answered, of whose body ${how}`, async (t) => {
    const requests: WeakRef<IncomingMessage>[] = [];
    async function answer(leave: () => void, res: ServerResponse): Promise<void> {
      const { req } = res;
      requests.push(new WeakRef(req));
      await nextTurn();
      read(req);
      client.write('+two');
      await until(() => req.complete);
      res.end();
      leave();
    }
    const bounds = { inFlight: 1, inFlightPerConnection: 1 };
    const { port } = await startServer(t, bounds, (leave, res) => void answer(leave, res));
    const client = await openRaw(t, port);
    client.write(requestBytes('POST /', [], 'one+two').subarray(0, -4));
    await client.responses(1);

    await until(() => {
      collectGarbage();
      return requests[0]?.deref() === undefined;
    });
    assert.equal(client.closed, false);
  });
}

test('who asks for it is told of each request that is done', async (t) => {
  const leave: (() => void)[] = [];
  const told: number[] = [];
  const bounds = { inFlight: 9, inFlightPerConnection: 9 };
  const { connections, port } = await startServer(t, bounds, (done) => leave.push(done));
  connections.whenDone(() => told.push(connections.inFlight));
  const client = await openRaw(t, port);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
  await until(() => leave.length === 2);
  for (const done of leave) done();
  assert.deepEqual(told, [1, 0]);
});

test('answers that are not out bound what may be asked ahead on all connections together, and nothing else', async (t) => {
  const answers: ServerResponse[] = [];
  const { port } = await startServer(t, { inFlight: 2, inFlightPerConnection: 9 }, (leave, res) => {
    answers.push(res);
    leave();
  });
  const ask = async (times: number) => {
    const client = await openRaw(t, port);
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times));
    return client;
  };
  await ask(2);
  await until(() => answers.length === 2);
  const ahead = await ask(9);
  await until(() => answers.length === 3);
  await ask(1);
  await until(() => answers.length === 4);
  const held = answers.splice(0);
  const out = held.map((res) => once(res, 'close'));
  for (const res of held) res.end();
  await Promise.all(out);
  const [answer, ...others] = parseResponses(await ahead.receivedUntilClose(), { methods: [], closed: true });
  assert.deepEqual([answer?.headers['connection'], others], ['close', []]);
  await ask(2);
  await until(() => answers.length === 2);
});

test('a drain ends a connection only after a while of its own, however long that has been idle', async (t) => {
  const { connections, port } = await startServer(t, { inFlight: 1, inFlightPerConnection: 1 }, () => {});
  await openRaw(t, port);
  await until(() => connections.count === 1);
  // Whole: of fractions 250 more are not always 250.
  const begun = Math.ceil(performance.now()) + 60_000;
  const now = t.mock.method(performance, 'now', () => begun).mock;
  connections.drain();
  const closeIdleConnections = t.mock.fn();
  for (const [afterMs, times] of [
    [249, 0],
    [250, 1],
  ] as const) {
    now.mockImplementation(() => begun + afterMs);
    connections.endIdle({ closeIdleConnections }, 250);
    assert.equal(closeIdleConnections.mock.callCount(), times);
  }
});

test('in a jam who has been answered is read again only when that is over, and is not idle to a drain until then', async (t) => {
  const asked: (string | undefined)[] = [];
  const bounds = { inFlight: 9, inFlightPerConnection: 9 };
  const { connections, port, server } = await startServer(t, bounds, (leave, res) => {
    asked.push(res.req.url);
    res.end();
    leave();
  });
  const [silent, early, late] = [await openRaw(t, port), await openRaw(t, port), await openRaw(t, port)];
  early.write(requestBytes('GET /early'));
  await early.responses(1);
  const endJam = keepJammed(t);
  late.write(requestBytes('GET /late'));
  await late.responses(1);
  late.write(requestBytes('GET /late/next'));
  early.write(requestBytes('GET /early/next'));
  await early.responses(2);
  assert.deepEqual(asked, ['/early', '/late', '/early/next']);

  const now = performance.now();
  connections.drain();
  const { mock } = t.mock.method(performance, 'now', () => now + 60_000);
  connections.endIdle(server, 250);
  mock.restore();
  await silent.receivedUntilClose();
  endJam();
  await late.responses(2);
  assert.equal(asked.at(-1), '/late/next');
});

test('many who make a connection for one request, and are held back in a jam when they leave, are gone in a few turns', async (t) => {
  const count = 400;
  const bounds = { inFlight: count, inFlightPerConnection: 1 };
  const { connections, port, server } = await startServer(t, bounds, (leave, res) => {
    res.end();
    leave();
  });
  const goneAt: number[] = [];
  server.on('connection', (socket) => socket.once('close', () => goneAt.push(turnsSoFar())));
  const clients = await Promise.all(Array.from({ length: count }, () => openRaw(t, port)));
  keepJammed(t, 4000);
  for (const client of clients) client.write(requestBytes('GET /'));
  for (const client of clients) {
    await client.responses(1);
    client.socket.end();
  }
  assert.equal(connections.count, count);
  await until(() => connections.count === 0);
  const turns = goneAt.at(-1)! - goneAt[0]!;
  assert.ok(turns < count / 8 / 2, `${turns} turns`);
});
