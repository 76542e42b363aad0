import assert from 'node:assert/strict';
import http, { createServer, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Body, noBody } from '../../../../src/bodies/body.ts';
import { codeOf } from '../../../../src/content/error-code.ts';
import { createTrust } from '../../../../src/upstream/connect.ts';
import { Seats } from '../../../../src/upstream/seats.ts';
import { createStreamedLane, type StreamedLane } from '../../../../src/upstream/streamed/streamed-lane.ts';
import { openBlackHole } from '../../../helpers/black-hole.ts';
import { listen } from '../../../helpers/listen.ts';
import { until } from '../../../helpers/poll.ts';
import { noProgress } from '../../../helpers/progress.ts';
import { startRawUpstream } from '../../../helpers/raw-upstream.ts';

const timeouts = { connectMs: 5000, responseMs: 5000, idleMs: 5000 };

test('an answer that nobody asked for, still unread when the next request begins, does that one no harm', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(answer('ok')));
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(new URL(upstream.url), { timeouts }, bounds);
  t.after(() => lane.close());
  const clients = await openClients(t);
  for (let turn = 0; turn < 3; turn += 1) {
    const { res, text } = await clients.next();
    // In the part of a turn behind which what has come is read.
    await nextTurn();
    for (const socket of upstream.sockets) socket.write(answer('poison'));
    send(lane, res);
    assert.equal(await text, 'ok');
  }
});

test('a request whose client leaves before its turn opens no connection', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(answer('ok')));
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(new URL(upstream.url), { timeouts }, bounds);
  t.after(() => lane.close());
  const clients = await openClients(t);
  const [first, second] = [await clients.next(), await clients.next()];
  // In the part of a turn behind which it is told that a connection has closed.
  await nextTurn();
  first.res.socket?.destroy();
  send(lane, first.res);
  send(lane, second.res);
  assert.equal(await second.text, 'ok');
  assert.equal(upstream.sockets.size, 1);
});

test('a request that cannot be opened fails alone', async (t) => {
  t.mock.method(http, 'request', () => assert.fail('no more'));
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(new URL('http://127.0.0.1:1'), { timeouts }, bounds);
  t.after(() => lane.close());
  const { res } = await (await openClients(t)).next();
  const failed = new Promise<Error>((fail) => send(lane, res, fail));
  assert.equal((await failed).message, 'no more');
  res.destroy();
});

test('an answer of which its client leaves the end unread frees its connection for the next', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(twoChunks));
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(new URL(upstream.url), { timeouts }, bounds);
  t.after(() => lane.close());
  const clients = await openClients(t);
  const { res } = await clients.next();
  const { mock } = t.mock.method(res, 'write', () => false);
  send(lane, res);
  await until(() => mock.callCount() > 0);
  res.destroy();
  const next = await clients.next();
  send(lane, next.res);
  assert.equal((await next.text).length, 40_000);
  assert.equal(upstream.received.length, 1);
});

test('a client that leaves the end of an early answer unread, and its body unsent, has the connection reset', async (t) => {
  const accepted: Socket[] = [];
  const faults: unknown[] = [];
  const upstream = createTcpServer((socket) => {
    accepted.push(socket.on('error', (error) => faults.push(codeOf(error))));
    socket.once('data', () => socket.write(twoChunks));
  });
  const target = new URL(`http://127.0.0.1:${await listen(t, upstream)}`);
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(target, { timeouts }, bounds);
  t.after(() => lane.close());
  const { res } = await (await openClients(t)).next();
  const { mock } = t.mock.method(res, 'write', () => false);
  send(lane, res, ignore, neverWhole);
  await until(() => mock.callCount() > 0);
  res.destroy();
  await until(() => accepted[0]?.closed);
  assert.deepEqual(faults, ['ECONNRESET']);
});

test('after an early answer a client that has sent everything is not read on when its connection ends', async (t) => {
  const upstream = createTcpServer((socket) => {
    socket.on('error', ignore).once('data', () => socket.write(answer('ok')));
  });
  const target = new URL(`http://127.0.0.1:${await listen(t, upstream)}`);
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(target, { timeouts }, bounds);
  t.after(() => lane.close());
  const { res, text } = await (await openClients(t)).next();
  const { socket } = res.req;
  send(lane, res, ignore, neverWhole);
  assert.equal(await text, 'ok');
  assert.equal(Object.hasOwn(socket, 'destroySoon'), false);
});

test('after how much silence it is asked whether the other side is still there does not change when a connection is kept', async (t) => {
  const upstream = await startRawUpstream(t, (socket) => void socket.write(answer('ok')));
  const target = new URL(upstream.url);
  const bounds = { seats: new Seats(1), trust: createTrust(undefined) };
  const lane = createStreamedLane(target, { timeouts }, bounds);
  t.after(() => lane.close());
  const { mock } = t.mock.method(Socket.prototype, 'setKeepAlive');
  const clients = await openClients(t);
  for (let turn = 0; turn < 2; turn += 1) {
    const { res, text } = await clients.next();
    send(lane, res);
    assert.equal(await text, 'ok');
  }
  const asked = mock.calls.flatMap(({ this: socket, arguments: [, ms] }) =>
    (socket as Socket).remotePort === Number(target.port) ? [ms] : [],
  );
  assert.deepEqual(new Set(asked), new Set([60_000]));
});

test('the time in line, or for an answer, does not run while a connection is being made', async (t) => {
  const target = new URL(`http://127.0.0.1:${await openBlackHole(t)}`);
  const seats = new Seats(1);
  const times = { ...timeouts, connectMs: 600, responseMs: 300 };
  const lane = createStreamedLane(target, { timeouts: times }, { seats, trust: createTrust(undefined) });
  t.after(() => lane.close());
  const clients = await openClients(t);
  const { res } = await clients.next();
  const other = { hasSeat: false, spot: undefined, turnAway: ignore };
  seats.take(other, ignore);
  const failed = new Promise<Error>((fail) => send(lane, res, fail));
  seats.leave(other);
  assert.equal((await failed).message, 'no connection within 600 ms');
  res.destroy();
});

/** Has a lane answer, and ends the answer where it fails. */
function send(
  lane: StreamedLane,
  res: ServerResponse,
  reject: (failure: Error) => void = () => void res.destroy(),
  body: Body = noBody,
): void {
  const request = {
    method: 'POST',
    path: '/',
    headers: ['Host', 'a', ...(body.length === undefined ? ['Transfer-Encoding', 'chunked'] : [])],
    body,
    switching: undefined,
    alone: false,
  };
  lane.send(request, res, {
    ourHeaders: () => [],
    costHeader: undefined,
    whenWhole: undefined,
    progress: noProgress(),
    listener: { connected: ignore, begin: ignore, resolve: ignore, reject },
  });
}

/** Clients that wait for what a lane is to answer, one after the other. */
async function openClients(t: TestContext) {
  const waiting: ServerResponse[] = [];
  const port = await listen(
    t,
    createServer((_req, res) => void waiting.push(res)),
  );
  return {
    async next(): Promise<{ res: ServerResponse; text: Promise<string> }> {
      const asked = fetch(`http://127.0.0.1:${port}/`);
      const text = asked.then((whole) => whole.text()).catch(() => 'nothing');
      await until(() => waiting.length > 0);
      return { res: waiting.shift()!, text };
    },
  };
}

/** A body of which only the beginning comes. */
const neverWhole: Body = {
  kind: 'stream',
  length: undefined,
  async *read() {
    yield Buffer.from('x');
    await new Promise(ignore);
  },
  release: ignore,
};

/** An answer in two chunks, each of which is sent on as it comes. */
const chunk = `4e20\r\n${'x'.repeat(0x4e20)}\r\n`;
const twoChunks = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`;

function answer(text: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

function ignore(): void {}
