import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdBytes } from '../../../../src/upstream/handshake.ts';
import { OpenSockets, type OpenSocket } from '../../../../src/upstream/open-sockets.ts';
import { joinSockets } from '../../../../src/upstream/streamed/join-sockets.ts';
import { memoryUsed } from '../../../helpers/collect-garbage.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { listen } from '../../../helpers/listen.ts';
import { until, type Scene } from '../../../helpers/poll.ts';
import { noProgress } from '../../../helpers/progress.ts';

for (const from of ['client', 'upstream']) {
  test(`pieces of a few bytes from the ${from} cost no more than their bytes while the other side takes nothing`, async (t) => {
    const client = await openPair(t);
    const upstream = await openPair(t);
    const progress = noProgress();
    const sockets = {
      client: { socket: client.near, joined: undefined },
      upstream: upstream.near,
    };
    const joined = joinSockets({ ...sockets, idleMs: 60_000, progress });
    const [sender, taker] = from === 'client' ? [client, upstream] : [upstream, client];
    const received: Buffer[] = [];
    taker.far.pause().on('data', (chunk: Buffer) => received.push(chunk));
    taker.far.once('end', () => taker.far.end());
    let sent = await fill(sender.far, taker.near);
    const before = await memoryAtRest();
    // More than is written ahead, and then more than is read ahead.
    const small = await writeSmall(sender.far, 15_000);
    sent += small * piece.length;
    const grownBytes = memoryUsed() - before;
    taker.far.resume();
    sender.far.end();
    await joined;
    assert.ok(small > 7500, `only ${small} pieces`);
    assert.ok(grownBytes < limitBytes, `${grownBytes} bytes`);
    assert.equal(Buffer.concat(received).toString(), 'x'.repeat(sent));
    assert.equal(progress.bytesIn + progress.bytesOut, sent);
  });
}

test('what was said while the process was held up was said in time', async (t) => {
  const client = await openPair(t);
  const upstream = await openPair(t);
  const idleMs = 300;
  const joined = joinSockets({
    client: { socket: client.near, joined: undefined },
    upstream: upstream.near,
    idleMs,
    progress: noProgress(),
  });
  const heard: Buffer[] = [];
  upstream.far.on('data', (chunk: Buffer) => heard.push(chunk));
  client.far.write('in time');
  holdUp(2 * idleMs);
  await joined;
  assert.equal(Buffer.concat(heard).toString(), 'in time');
});

test('what was said while the process was held up is passed on before a drain closes its socket as quiet', async (t) => {
  const client = await openPair(t);
  const upstream = await openPair(t);
  const heard: Buffer[] = [];
  upstream.far.on('data', (chunk: Buffer) => heard.push(chunk));
  const { joined, sockets } = joinAsWebSocket(client, upstream);
  sockets.drain();
  client.far.write('in time');
  holdUp(1500);
  await joined;
  assert.equal(Buffer.concat(heard).toString(), 'in time');
});

test('a drain closes a WebSocket once nothing has been said on it for a second, and not before', async (t) => {
  const client = await openPair(t);
  const upstream = await openPair(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { joined, sockets } = joinAsWebSocket(client, upstream);
  sockets.drain();
  now = 999;
  t.mock.timers.tick(100);
  await nextTurn();
  assert.equal(client.near.writableEnded, false);
  now = 1000;
  t.mock.timers.tick(100);
  await joined;
});

test('last words that came while the process was held up are passed on', async (t) => {
  const client = await openPair(t);
  const upstream = await openPair(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const joined = joinSockets({
    client: { socket: client.near, joined: undefined },
    upstream: upstream.near,
    idleMs: 60_000,
    progress: noProgress(),
  });
  const heard: Buffer[] = [];
  upstream.far.on('data', (chunk: Buffer) => heard.push(chunk)).end();
  await once(upstream.near, 'end');
  await nextTurn();
  client.far.write('last words');
  // Node runs its timers before it reads.
  t.mock.timers.tick(3000);
  await Promise.all([joined, once(upstream.far, 'close')]);
  assert.equal(Buffer.concat(heard).toString(), 'last words');
});

const ways = {
  'the upstream is reset': (_client: OpenSocket, upstream: Socket) => upstream.resetAndDestroy(),
  'the gateway stops': (client: OpenSocket) => client.joined?.close(),
};
for (const [name, close] of Object.entries(ways)) {
  test(`a slow client gets what was read for it before ${name}`, async (t) => {
    const { near, far } = await openPair(t);
    const upstream = await openPair(t);
    const client: OpenSocket = { socket: near, joined: undefined };
    const progress = noProgress();
    const joined = joinSockets({ client, upstream: upstream.near, idleMs: 60_000, progress });
    const received: Buffer[] = [];
    far.pause().on('data', (chunk: Buffer) => received.push(chunk));
    let sent = await fill(upstream.far, near);
    sent += piece.length * (await writeSmall(upstream.far, 1000));
    await until(() => progress.bytesOut === sent);
    close(client, upstream.far);
    await until(() => near.writableEnded);
    await Promise.all([joined, once(far.resume(), 'end')]);
    assert.equal(Buffer.concat(received).length, sent);
  });
}

test('what is held before the 101 costs no more than its bytes, and is there again after it', async (t) => {
  const { near, far } = await openPair(t);
  const putBack = holdBytes(near);
  const before = await memoryAtRest();
  const count = 7500;
  assert.equal(await writeSmall(far, count), count);
  await until(() => near.bytesRead === count * piece.length);
  const grownBytes = memoryUsed() - before;
  assert.ok(grownBytes < limitBytes, `${grownBytes} bytes`);
  putBack();
  const received: Buffer[] = [];
  near.on('data', (chunk: Buffer) => received.push(chunk)).resume();
  far.end('!');
  await once(near, 'end');
  assert.equal(Buffer.concat(received).toString(), `${piece.repeat(count)}!`);
});

/** Two thirds of what the pieces cost one by one. */
const limitBytes = 1_000_000;

/** Of eight bytes, an eighth as many of which fill what is written and read ahead as would of one. */
const piece = 'xxxxxxxx';

/** Buffers that were let go just now are counted until the collector has been there twice. */
async function memoryAtRest(): Promise<number> {
  memoryUsed();
  await nextTurn();
  return memoryUsed();
}

/** Until the kernel takes nothing more of what is passed on. */
async function fill(from: Socket, passedOn: Socket): Promise<number> {
  const chunk = Buffer.alloc(8192, 'x');
  let sent = 0;
  for (; passedOn.writableLength === 0; sent += chunk.length) {
    from.write(chunk);
    await nextTurn();
  }
  return sent;
}

/** One by one, so that each is read by itself, and no more than are taken. */
async function writeSmall(to: Socket, most: number): Promise<number> {
  let written = 0;
  for (; written < most && to.writableLength === 0; written += 1) {
    to.write(piece);
    await nextTurn();
  }
  return written;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/** Joins the near ends as a WebSocket that a drain knows of. */
function joinAsWebSocket(client: Pair, upstream: Pair) {
  const sockets = new OpenSockets();
  const entry = sockets.enter('live', 1, new ServerResponse(new IncomingMessage(client.near)));
  assert.ok(entry);
  const progress = noProgress();
  const joined = joinSockets({ client: entry, upstream: upstream.near, idleMs: 60_000, progress });
  return { sockets, joined };
}

/** Both ends of a connection. */
async function openPair(t: Scene): Promise<Pair> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const port = await listen(t, server);
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const [near] = (await once(server, 'connection')) as [Socket];
  t.after(() => void near.destroy());
  t.after(() => void far.destroy());
  return { near, far };
}
