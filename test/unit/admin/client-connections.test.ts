import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, createServer as createAcceptor, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { answerUnreadable, leadRequests } from '../../../src/admin/client-connections.ts';
import { countRequests } from '../../helpers/count-requests.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { countClosed, openRaw, requestBytes } from '../../helpers/raw-socket.ts';

test('of a thousand requests in one go nothing is made once their connection is ended', async (t) => {
  const made = countRequests(t);
  const server = createServer();
  leadRequests(server, () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const raw = await openRaw(t, (server.address() as AddressInfo).port);
  raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  await until(() => raw.closed);
  assert.equal(made(), 17);
});

test('a client that is refused its tunnel and goes on sending is ended with all others', async (t) => {
  const server = createServer();
  const { endAll } = leadRequests(server, () => undefined);
  const client = connect({ port: await listen(t, server), allowHalfOpen: true });
  t.after(() => client.destroy());
  client.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(client.resume(), 'end');
  const sending = setInterval(() => client.write('x'), 20);
  t.after(() => clearInterval(sending));
  const closed = once(server.close(), 'close', { signal: AbortSignal.timeout(5000) });
  endAll();
  await closed;
});

// A turn that finds over a thousand sockets with something to read takes more than one connection from the same port.
for (const { what, asks, ends } of [
  { what: 'silent, end two of them', asks: '', ends: { held: 2, late: 0 } },
  {
    what: 'sending their requests, end one of them, and the first of the two, that has asked for nothing yet',
    asks: requestBytes('POST /', [['Content-Length', '50']], '{').toString(),
    ends: { held: 1, late: 1 },
  },
  {
    what: 'waiting for an answer, are ended',
    asks: requestBytes('GET /').toString(),
    ends: { held: 0, late: 2 },
  },
]) {
  test(`two connections that are taken in one turn of the event loop, while all others are ${what}`, async (t) => {
    const server = createServer();
    let [taken, asked] = [0, 0];
    leadRequests(server, () => void (asked += 1));
    const acceptor = createAcceptor((socket) => server.emit('connection', socket));
    const [port, another] = [await listen(t, server), await listen(t, acceptor)];
    server.on('connection', () => (taken += 1));
    const held = await Promise.all(Array.from({ length: 64 }, () => openRaw(t, port)));
    for (const client of held) client.write(asks);
    await until(() => taken === 64 && asked === (asks === '' ? 0 : 64));
    const late = await Promise.all([openRaw(t, port), openRaw(t, another)]);
    await until(() => countClosed(held) + countClosed(late) === 2);
    assert.deepEqual({ held: countClosed(held), late: countClosed(late) }, ends);
  });
}

test('a client that leaves before its answer takes no place from those that stay', async (t) => {
  const server = createServer();
  leadRequests(server, ({ url }, res) => void (url === '/answered' && res.end()));
  const port = await listen(t, server);
  let left = 0;
  server.on('connection', (socket) => socket.on('close', () => (left += 1)));
  await openRaw(t, port);
  const leavers = await Promise.all(Array.from({ length: 63 }, () => openRaw(t, port)));
  for (const { socket } of leavers) socket.end(requestBytes('GET /'), () => socket.destroy());
  await until(() => left === 63);
  const next = await openRaw(t, port);
  next.write(requestBytes('GET /answered'));
  await next.responses(1);
  assert.equal(left, 63);
});

const underWay = { complete: false, headersSent: false };
const late = 'ERR_HTTP_REQUEST_TIMEOUT';

for (const {
  what,
  code = 'HPE_INVALID_METHOD',
  bytesRead = 1,
  earlier,
  isBehind = false,
  isEnded = false,
  says,
} of [
  { what: 'a request that is late', code: late, says: 'The request took too long to arrive' },
  { what: 'the body of a request behind one that waits for its answer', earlier: underWay, isBehind: true },
  { what: 'what comes when nothing more can be said', isEnded: true },
  { what: 'a body whose answer has begun', earlier: { ...underWay, headersSent: true } },
  { what: 'a connection on which nothing was asked', code: late, bytesRead: 0 },
]) {
  test(`${what}, if it cannot be read, is ${says === undefined ? 'cut off without an answer' : 'refused'}`, () => {
    const written: Buffer[] = [];
    const socket = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _, done) {
        written.push(chunk);
        done();
      },
    });
    const latest =
      earlier && ({ req: earlier, headersSent: earlier.headersSent } as unknown as ServerResponse);
    const unanswered = latest === undefined ? [] : [latest];
    if (isBehind) unanswered.unshift({} as ServerResponse);
    if (isEnded) socket.end();
    answerUnreadable(
      Object.assign(new Error('x'), { code }),
      Object.assign(socket, { bytesRead }) as unknown as Socket,
      { latest, unanswered: new Set(unanswered) },
    );
    const isCut = socket.destroyed;
    socket.destroy();
    const body = Buffer.concat(written).toString().split('\r\n\r\n')[1];
    const error = body === undefined ? undefined : (JSON.parse(body) as { error: string }).error;
    assert.deepEqual([error, isCut], [says, says === undefined]);
  });
}
