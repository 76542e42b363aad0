import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ArrivingBody } from '../../../src/bodies/arriving-body.ts';
import { Refusal } from '../../../src/refusals.ts';
import { breakBody } from '../../../src/wire/broken-body.ts';
import { fakeTimers } from '../../helpers/fake-timers.ts';

function arrive({ timeoutMs = 60_000, bytesPerSecondMin = 0 } = {}) {
  const req = new IncomingMessage(new Socket());
  const visit = { bytesIn: 0 };
  const body = new ArrivingBody(req, { timeoutMs, bytesPerSecondMin, tooSlow: 'upload_too_slow', visit });
  return { req, body, visit };
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

/** A clock that moves when the function returned is called, and lets happen what follows. */
function clockOf(t: TestContext): (ms: number) => Promise<void> {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const passTimers = fakeTimers(t);
  return async (ms) => {
    await turn();
    now += ms;
    passTimers(ms);
    await turn();
    await turn();
  };
}

const refusedWith = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code;

test('a body is read to its end, counted as it comes', async () => {
  const { req, body, visit } = arrive();
  const all = collect(body);
  req.push('ab');
  await turn();
  req.push('c');
  await turn();
  assert.equal(visit.bytesIn, 3);
  req.push(null);
  assert.equal(await all, 'abc');
});

test('a body that is no longer wanted is let go, also by who never asked for more of it', async () => {
  const { req, body } = arrive();
  await Promise.all([body.next(), Promise.resolve(req.push('first'))]);
  for (const ahead of ['second', 'third']) req.push(ahead);
  assert.equal(req.isPaused(), true);
  body.stop();
  assert.deepEqual([req.isPaused(), req.listenerCount('data'), req.listenerCount('close')], [false, 0, 0]);
});

test('no more is read than is taken, but for two chunks', async () => {
  const { req, body } = arrive();
  await Promise.all([body.next(), Promise.resolve(req.push('first'))]);
  let accepted = 0;
  while (req.push(Buffer.alloc(1024))) accepted += 1;
  await turn();
  assert.ok(accepted <= 2 + req.readableHighWaterMark / 1024);
  await body.return();
});

test(
  'a client that keeps to the rate is read window after window, and one that sends a byte less is refused',
  { timeout: 10_000 },
  async (t) => {
    const pass = clockOf(t);
    const { req, body } = arrive({ bytesPerSecondMin: 1000 });
    const all = collect(body);
    for (let window = 0; window < 5; window += 1) {
      req.push('x'.repeat(5000));
      await pass(2500);
      await pass(2500);
    }
    req.push('x'.repeat(4999));
    void pass(5000);
    await assert.rejects(all, refusedWith('upload_too_slow'));
  },
);

test(
  'of all the time only that counts in which the client is waited for, once',
  { timeout: 10_000 },
  async (t) => {
    const pass = clockOf(t);
    const { req, body } = arrive({ timeoutMs: 20_000 });
    for (const waitMs of [0, 10_000, 9999]) {
      const next = body.next();
      await pass(waitMs);
      req.push('x');
      assert.equal((await next).value?.toString(), 'x');
      // The taker's own.
      await pass(60_000);
    }
    const last = body.next();
    void pass(1);
    await assert.rejects(last, { code: 'upload_too_slow', message: /within 20 s/ });
  },
);

test('what a client sent at first does not count for later', { timeout: 10_000 }, async (t) => {
  const pass = clockOf(t);
  const { req, body } = arrive({ bytesPerSecondMin: 1000 });
  const all = collect(body);
  req.push('x'.repeat(100_000));
  await pass(5000);
  void pass(5000);
  await assert.rejects(all, { message: /per second/ });
});

test('a client that nobody waits for is not too slow', async (t) => {
  const pass = clockOf(t);
  const { req, body } = arrive({ timeoutMs: 10_000, bytesPerSecondMin: 1000 });
  for (const letter of ['x', 'y']) {
    req.push(letter);
    assert.equal((await body.next()).value?.toString(), letter);
    // The taker takes longer than many windows and than all of the time.
    await pass(60_000);
  }
  await body.return();
});

for (const [name, end, code] of [
  ['the client leaves', (req: IncomingMessage) => void req.destroy(), 'client_gone'],
  [
    'the parser gives up',
    (req: IncomingMessage) => breakBody(req, new Refusal('request_malformed')),
    'request_malformed',
  ],
] as const) {
  test(`when ${name}, whoever waits is told at once`, async () => {
    const { req, body } = arrive();
    const all = collect(body);
    req.push('x');
    await turn();
    end(req);
    await assert.rejects(all, refusedWith(code));
  });

  test(`when ${name} before the body is read, nobody waits for it`, async () => {
    const { req, body } = arrive();
    end(req);
    await turn();
    await assert.rejects(collect(body), refusedWith(code));
  });

  test(`when ${name}, not even what had come is read any more`, async () => {
    const { req, body } = arrive();
    await Promise.all([body.next(), Promise.resolve(req.push('first'))]);
    req.resume();
    req.push('second');
    await turn();
    end(req);
    await turn();
    await assert.rejects(body.next(), refusedWith(code));
  });
}

test('the first reason for which a body cannot be read is the one that is told', async () => {
  const { req, body } = arrive();
  await Promise.all([body.next(), Promise.resolve(req.push('first'))]);
  breakBody(req, new Refusal('request_malformed'));
  req.destroy();
  await turn();
  await assert.rejects(body.next(), refusedWith('request_malformed'));
});

test('a body that is stopped fails at once, and what still comes can be discarded by others', async () => {
  const { req, body } = arrive();
  const all = collect(body);
  await turn();
  body.stop();
  await assert.rejects(all, Refusal);
  let seen = 0;
  req.on('data', (chunk: Buffer) => (seen += chunk.length));
  req.push('rest');
  await turn();
  assert.equal(seen, 4);
});

test('a body that was stopped before it was begun is never read', async () => {
  const { req, body } = arrive();
  body.stop();
  await assert.rejects(collect(body), refusedWith('internal'));
  assert.equal(req.listenerCount('data'), 0);
});
