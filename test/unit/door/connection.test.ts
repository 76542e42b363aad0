import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Limits } from '../../../src/config/config.ts';
import { Connection } from '../../../src/door/connection.ts';
import { Visit } from '../../../src/visit.ts';
import { endReadablyAfterLast } from '../../../src/wire/linger.ts';
import { listen } from '../../helpers/listen.ts';
import { until, type Scene } from '../../helpers/poll.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

/** A connection, and its client. */
async function openConnection(t: Scene) {
  const server = createServer();
  const opened = once(server, 'connection');
  const client = await openRaw(t, await listen(t, server));
  const [socket] = (await opened) as [Socket];
  const connection = new Connection(socket, () => undefined);
  const answers: ServerResponse[] = [];
  server.on('request', (req, res) => {
    req.visit = new Visit('id', { peer: '', client: '', trusted: false });
    connection.enter(res);
    answers.push(res);
  });
  const ask = async (bytes = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'): Promise<ServerResponse> => {
    const count = answers.length;
    client.write(bytes);
    return await until(() => answers[count]);
  };
  return { client, connection, ask };
}

test('a connection that is to end behind an answer under way answers what came behind that, too', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  const first = await ask();
  first.write('first');
  connection.giveUp();
  const second = await ask();
  first.end();
  await client.responses(1);
  second.shouldKeepAlive = false;
  second.end('second');
  await client.receivedUntilClose();
  const texts = (await client.responses(2)).map(({ text }) => text);
  assert.deepEqual(texts, ['first', 'second']);
});

test('a connection that has ended behind an answer is read on, however long ago its request began', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  client.socket.allowHalfOpen = true;
  const limits = { headerTimeoutMs: 1000, requestTimeoutMs: 1000, keepAliveMs: 1000 } as Limits;
  const answer = await ask('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
  endReadablyAfterLast(answer.req.socket);
  answer.shouldKeepAlive = false;
  answer.end();
  await client.receivedUntilClose();
  await until(() => connection.inFlight === 0);
  const late = performance.now() + 60_000;
  connection.judgeRest(late, limits, undefined);
  connection.judgeSilence(late, limits);
  assert.equal(connection.isOpen, true);
});

test('a drain waits for the rest of a body that nobody reads no longer than for a head', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  const limits = { headerTimeoutMs: 1000, requestTimeoutMs: 600_000 } as Limits;
  const answer = await ask('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n');
  answer.end();
  await client.responses(1);
  await until(() => connection.isAnswered);
  const now = performance.now();
  connection.judgeRest(now + 60_000, limits, undefined);
  connection.judgeRest(now + 60_000, limits, now + 59_500);
  assert.ok(connection.isOpen);
  connection.judgeRest(now + 60_000, limits, now + 59_000);
  assert.ok(!connection.isOpen);
});

test('a connection is given up as silent once nothing is at work on it, and not while something is', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  const limits = { headerTimeoutMs: 1000, keepAliveMs: 1000 } as Limits;
  const judge = (): void => connection.judgeSilence(performance.now() + 60_000, limits);
  const answer = await ask();
  judge();
  answer.end();
  assert.equal((await client.responses(1))[0]?.headers['connection'], 'keep-alive');
  await until(() => connection.inFlight === 0);
  judge();
  await client.receivedUntilClose();
});

test('a connection has been idle since its last answer, and not since it was opened', async (t) => {
  const { connection, ask } = await openConnection(t);
  const limits = { headerTimeoutMs: 1000, keepAliveMs: 1000 } as Limits;
  const answer = await ask();
  // Whole: of fractions 4000 more are not always 4000.
  const late = Math.ceil(performance.now()) + 60_000;
  t.mock.method(performance, 'now', () => late);
  answer.end();
  await until(() => connection.inFlight === 0);
  assert.deepEqual([connection.isIdleSince(late - 1), connection.isIdleSince(late)], [false, true]);
  // Node is up to a second late with each of the two times.
  for (const silentMs of [0, 3999, 4000]) {
    assert.ok(!connection.isEnding);
    connection.judgeSilence(late + silentMs, limits);
  }
  assert.ok(connection.isEnding);
});

test('the end of a connection is settled by the last answer under way, and when it has been ended', async (t) => {
  const { connection, ask } = await openConnection(t);
  const [first, last] = [await ask(), await ask()];
  assert.ok(!connection.isEnding);
  last.shouldKeepAlive = false;
  assert.ok(connection.isEnding);
  last.shouldKeepAlive = true;
  last.flushHeaders();
  connection.giveUp();
  assert.ok(!connection.isEnding, 'the last answer has promised to keep it');
  for (const answer of [first, last]) answer.end();
  await until(() => connection.inFlight === 0);
  assert.ok(connection.isEnding);
});

test('to a client of HTTP/1.0 that ends its side half an answer is never all of it, though it has asked for more', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  const kept = 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n';
  const first = await ask(kept);
  first.req.visit.answered = 200;
  first.write('half');
  await client.receivedUntil((bytes) => bytes.includes('half'));
  await ask(kept);
  client.socket.end();
  await until(() => connection.inFlight === 0);
  await until(() => client.closed);
  assert.equal(client.error?.code, 'ECONNRESET');
});

test('an answer that pauses is not held against its reader, who has taken all there was', async (t) => {
  const { client, connection, ask } = await openConnection(t);
  const answer = await ask();
  answer.write('begun');
  await client.receivedUntil((bytes) => bytes.includes('begun'));
  for (const now of [0, 60_000, 120_000]) connection.judgeReader(now, { stalledReaderMs: 1000 } as Limits);
  assert.ok(!answer.req.socket.destroyed);
});

test('only the first of the answers under way goes on, because it alone has the connection', async (t) => {
  const { connection, ask } = await openConnection(t);
  const answers = [await ask(), await ask()];
  const goesOn = t.mock.fn();
  for (const [at, answer] of answers.entries()) answer.on('drain', () => goesOn(at));
  connection.resumeAnswer();
  assert.deepEqual(
    goesOn.mock.calls.map(({ arguments: [at] }) => at),
    [0],
  );
});

test('what came behind an answer is cut by us when an upstream has broken that one, and not when it is whole', async (t) => {
  const { connection, ask } = await openConnection(t);
  const [whole, broken, refused, behind] = [await ask(), await ask(), await ask(), await ask()];
  refused.req.visit.refusal = 'route_unknown';
  whole.end();
  await until(() => connection.inFlight === 3);
  assert.equal(behind.req.visit.cut, undefined);
  broken.req.visit.cut = 'upstream';
  broken.destroy();
  await until(() => connection.inFlight < 3);
  assert.deepEqual(
    [broken, refused, behind].map(({ req }) => req.visit.cut),
    ['upstream', undefined, 'gateway'],
  );
});
