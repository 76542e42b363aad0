import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { costMax } from '../../../src/config/plan-rule.ts';
import { type AnswerSource, Relay } from '../../../src/upstream/relay.ts';
import { Seats } from '../../../src/upstream/seats.ts';
import { whenAllIsRead } from '../../../src/waiting/when-all-is-read.ts';
import { fakeTimers } from '../../helpers/fake-timers.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { noProgress } from '../../helpers/progress.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

/** An upstream that stops when it is told to. */
class Source implements AnswerSource {
  paused = false;
  pause = () => void (this.paused = true);
  resume = () => void (this.paused = false);
  abort = () => undefined;
  isStale = () => false;
}

/** A request of a client that reads nothing as yet, the last of so many on its connection, and its relay. */
async function openRelay(
  t: TestContext,
  {
    idleMs = 60_000,
    responseMs = 60_000,
    requests = 1,
    seats = 1,
    whenWhole,
  }: { idleMs?: number; responseMs?: number; requests?: number; seats?: number; whenWhole?: () => void } = {},
) {
  const server = createServer();
  const client = await openRaw(t, await listen(t, server));
  client.socket.pause();
  const arrived: ServerResponse[] = [];
  server.on('request', (_req, res) => arrived.push(res));
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
  await until(() => arrived.length === requests);
  const res = arrived.at(-1);
  assert.ok(res);
  const writes = t.mock.method(res, 'write').mock;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const progress = noProgress();
  const listener = { connected: () => undefined, begin: () => undefined, resolve, reject };
  const relay = new Relay(
    res,
    { ourHeaders: () => [], costHeader: 'x-cost', whenWhole, progress, listener },
    { timeouts: { responseMs, idleMs }, seats: new Seats(seats) },
  );
  const source = new Source();
  relay.connected(source);
  return { client, relay, res, source, writes, over: promise, progress };
}

/** The same with the request sent, and some of the answer waiting already. */
async function startRelay(t: TestContext, idleMs?: number) {
  const opened = await openRelay(t, idleMs === undefined ? {} : { idleMs });
  const { client, relay, res, over, progress } = opened;
  relay.answerBegins(200, []);
  const sent: Buffer[] = [];
  const send = (bytes: Buffer): void => {
    sent.push(Buffer.from(bytes));
    relay.answerGoesOn(bytes);
  };
  while (res.writableLength === 0) {
    send(Buffer.alloc(32 * 1024, '.'));
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  }
  // Its time runs from here only: if it were given up before, on a busy machine, the loop above would never end.
  relay.requestSent();
  const arrivesWhole = async (): Promise<void> => {
    const [answer] = await client.responses(1);
    await over;
    assert.equal(progress.cut, undefined);
    assert.ok(answer?.body.equals(Buffer.concat(sent)), `${answer?.body.length} bytes`);
  };
  return { ...opened, send, sent, arrivesWhole };
}

for (const isHeadOut of [false, true]) {
  test(`what is asked of a store when an answer is whole leaves before its end, with its head ${isHeadOut ? 'out' : 'waiting'}`, async (t) => {
    const order: string[] = [];
    const { relay, res, over } = await openRelay(t, {
      whenWhole: () => whenAllIsRead(() => order.push('asked')),
    });
    res.once('prefinish', () => order.push('end'));
    relay.answerBegins(200, []);
    if (isHeadOut) await new Promise(setImmediate);
    relay.answerGoesOn(Buffer.from('all'));
    relay.answerEnded();
    await over;
    assert.deepEqual(order, ['asked', 'end']);
  });
}

const costs: readonly [string, string, number | undefined][] = [
  ['digits', '3', 3],
  ['digits with spaces around them', ' \t3 ', 3],
  ['no units', '0', 0],
  ['more units than any request may cost', '1000001', costMax],
  ['far too many units', '9'.repeat(400), costMax],
  ['a fraction', '1.5', undefined],
  ['a negative number', '-1', undefined],
  ['a number of another notation', '1e3', undefined],
  ['more than one number', '1, 2', undefined],
  ['no number', 'NaN', undefined],
  ['nothing', '', undefined],
];

for (const [name, text, cost] of costs) {
  test(`an upstream that says its cost in ${name} costs ${cost ?? 'what was to be expected'}`, async (t) => {
    const { relay, over, progress } = await openRelay(t);
    relay.answerBegins(200, ['X-Cost', text]);
    relay.answerEnded();
    await over;
    assert.equal(progress.cost, cost);
  });
}

test('the time of an upstream that answers before all of the request has left begins with its connection', async (t) => {
  const from = performance.now();
  const { relay, over, progress } = await openRelay(t);
  relay.answerBegins(200, []);
  assert.ok(Number(progress.upstreamMs) <= performance.now() - from);
  relay.answerEnded();
  await over;
});

for (const isWhole of [false, true]) {
  test(`of an answer that is broken off in the turn in which it ${isWhole ? 'came' : 'began'} nothing is sent, or told of as sent`, async (t) => {
    const { relay, res, over, progress } = await openRelay(t, { whenWhole: () => undefined });
    relay.requestSent();
    relay.answerBegins(200, []);
    relay.answerGoesOn(Buffer.from('part'));
    if (isWhole) relay.answerEnded();
    relay.breakOff(new Error('reset'));
    await assert.rejects(over, { message: 'reset' });
    await new Promise<void>(whenAllIsRead);
    assert.equal(res.headersSent, false);
    assert.deepEqual([progress.answered, progress.bytesOut], [undefined, 0]);
  });
}

test('of an answer whose head cannot be sent nothing is sent, or counted, however much of it comes', async (t) => {
  const { relay, res, over, progress } = await openRelay(t);
  relay.requestSent();
  relay.answerBegins(700, []);
  for (let piece = 0; piece < 2; piece += 1) relay.answerGoesOn(Buffer.alloc(32 * 1024));
  await assert.rejects(over, { message: '700 is not the status of an answer' });
  assert.deepEqual([res.headersSent, progress.bytesOut], [false, 0]);
});

test('the time in line is over with a connection, and the time for an answer begins when the request has been sent', async (t) => {
  const { relay, source, over } = await openRelay(t, { responseMs: 20, seats: 0 });
  const pass = fakeTimers(t);
  const failures: unknown[] = [];
  over.catch((cause: unknown) => failures.push(cause));
  const letTimePass = async (): Promise<void> => {
    pass(20);
    await new Promise(setImmediate);
  };
  relay.takeSeat(() => undefined);
  relay.connected(source);
  await letTimePass();
  assert.deepEqual(failures, []);
  relay.requestSent();
  await letTimePass();
  assert.match(String(failures), /no answer within 20 ms/);
});

test('the time for an answer is over with its head, however long the rest takes', async (t) => {
  const { relay, over, progress } = await openRelay(t, { responseMs: 1 });
  relay.requestSent();
  relay.answerBegins(200, []);
  const begun = performance.now();
  await until(() => performance.now() - begun > 20);
  relay.answerEnded();
  await over;
  assert.equal(progress.cut, undefined);
});

test('an answer that stands behind others on its connection is not told to be whole', async (t) => {
  let isTold = false;
  const { relay, over } = await openRelay(t, { requests: 2, whenWhole: () => (isTold = true) });
  relay.answerBegins(200, []);
  relay.answerEnded();
  await over;
  assert.ok(!isTold);
});

test('small pieces of an answer that has to wait are gathered, and it arrives whole', async (t) => {
  const { client, relay, source, writes, send, arrivesWhole } = await startRelay(t);
  const before = writes.callCount();
  for (let at = 0; at < 100_000 && !source.paused; at += 1) send(Buffer.from([97 + (at % 26)]));
  assert.ok(source.paused, 'the upstream goes on and on');
  assert.ok(writes.callCount() - before < 10, `${writes.callCount() - before} writes wait`);

  client.socket.resume();
  await until(() => !source.paused);
  for (let at = 0; at < 100; at += 1) send(Buffer.from([65 + (at % 26)]));
  relay.answerEnded();
  await arrivesWhole();
});

test('what still comes of an answer that was told to stop waits with the rest', async (t) => {
  const { client, relay, res, source, send, arrivesWhole } = await startRelay(t);
  while (!source.paused) send(Buffer.alloc(32 * 1024, '.'));
  const listeners = res.listenerCount('drain');
  for (let more = 0; more < 20; more += 1) send(Buffer.alloc(32 * 1024, '-'));
  assert.equal(res.listenerCount('drain'), listeners);
  client.socket.resume();
  await until(() => !source.paused);
  relay.answerEnded();
  await arrivesWhole();
});

test('what waits to be sent when an answer ends arrives as well', async (t) => {
  const { client, relay, send, arrivesWhole } = await startRelay(t);
  for (let at = 0; at < 100; at += 1) send(Buffer.from([65 + (at % 26)]));
  relay.answerEnded();
  client.socket.resume();
  await arrivesWhole();
});

for (const event of ['drain', 'close'] as const) {
  test(`a connection whose answer is whole may serve another, and hears nothing of a ${event}`, async (t) => {
    const { client, relay, res, source, over, send } = await startRelay(t);
    const aborted = t.mock.method(source, 'abort').mock;
    while (!source.paused) send(Buffer.alloc(32 * 1024, '.'));
    relay.answerEnded();
    res.emit(event);
    assert.ok(source.paused);
    assert.equal(aborted.callCount(), 0);
    client.socket.resume();
    await over;
  });
}

test('behind what had to wait every piece goes on at once, as the events of a stream must', async (t) => {
  const { client, relay, send, source } = await startRelay(t);
  send(Buffer.from('waits'));
  client.socket.resume();
  await until(() => !source.paused);
  for (const event of ['one', 'two', 'three']) {
    send(Buffer.from(event));
    await client.receivedUntil((bytes) => bytes.toString('latin1').endsWith(`${event}\r\n`));
  }
  relay.answerEnded();
});

test('an upstream is not given up while it is its client that takes nothing, and is when it brings nothing after that', async (t) => {
  const idleMs = 200;
  const { client, relay, source, over, progress, send } = await startRelay(t, idleMs);
  while (!source.paused) send(Buffer.alloc(32 * 1024, '.'));
  relay.requestSent();
  const from = performance.now();
  await until(() => performance.now() - from > 4 * idleMs);
  assert.equal(progress.cut, undefined);

  client.socket.resume();
  await over;
  assert.equal(progress.cut, 'upstream');
  assert.match(String(progress.cause), /nothing more of the answer within 200 ms/);
  await client.receivedUntilClose();
});

test('each piece of an answer gives the upstream its time anew', async (t) => {
  // A machine that does something else for a while brings no piece meanwhile.
  const idleMs = 2000;
  const timers = countTimers();
  const { client, relay, over, progress, send, sent } = await startRelay(t, idleMs);
  client.socket.resume();
  await client.receivedUntil((bytes) => bytes.length > Buffer.concat(sent).length);
  const from = performance.now();
  await until(() => {
    send(Buffer.from('.'));
    return performance.now() - from > 1.5 * idleMs;
  });
  relay.answerEnded();
  await over;
  assert.equal(progress.cut, undefined);
  assert.equal(countTimers(), timers);
});

for (const last of ['a piece', 'the end'] as const) {
  test(`${last} of an answer that came while the process was held up came in time`, async (t) => {
    // A busy machine may hold the test itself up for a while.
    const idleMs = 400;
    const { client, relay, over, progress, send, sent } = await startRelay(t, idleMs);
    client.socket.resume();
    await client.receivedUntil((bytes) => bytes.length > Buffer.concat(sent).length);
    send(Buffer.from('.'));
    // From here on the next turn begins with the timers, of which one is late, and what has come is read behind them.
    await new Promise(setImmediate);
    setImmediate(() => {
      if (last === 'a piece') send(Buffer.from('.'));
      else relay.answerEnded();
    });
    holdUp(2 * idleMs);
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    relay.answerEnded();
    await over;
    assert.equal(progress.cut, undefined);
  });
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
