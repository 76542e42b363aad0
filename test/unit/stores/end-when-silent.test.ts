import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { endWhenSilent } from '../../../src/stores/redis/client/end-when-silent.ts';
import { Silence } from '../../../src/stores/redis/failures.ts';
import { fakeTimers } from '../../helpers/fake-timers.ts';

test('a connection that owes an answer for so long is given up, whatever else it brings or is asked', async (t) => {
  const { send, bytes, pass, ended } = scene(t);
  await pass(1_000);
  await send();
  await pass(600);
  bytes();
  await send();
  await pass(399);
  assert.deepEqual(ended(), []);
  await pass(1);
  const [[error]] = ended() as [[unknown]];
  assert.ok(error instanceof Silence);
  assert.equal(error.message, 'did not answer within 1000 ms');
});

test('who has answered all owes nothing, and who has answered one of two owes the other', async (t) => {
  for (const [asked, answered] of [
    [1, 1],
    [2, 2],
    [2, 1],
  ] as const) {
    const { send, answer, pass, ended } = scene(t);
    for (let times = 0; times < asked; times += 1) await send();
    await answer(answered);
    await pass(1_000);
    assert.equal(ended().length, asked - answered);
  }
});

test('an answer that is there before the turn is over leaves nothing to wait for', async (t) => {
  const { send, answer, pass, ended } = scene(t);
  await Promise.all([send(), answer(1)]);
  await pass(1_000);
  assert.deepEqual(ended(), []);
});

test('a connection that is never without a question is kept as long as it goes on answering', async (t) => {
  const { send, answer, pass, ended } = scene(t);
  await send();
  for (let times = 0; times < 9; times += 1) {
    await send();
    await pass(600);
    await answer(1);
  }
  assert.deepEqual(ended(), []);
  await pass(1_000);
  assert.equal(ended().length, 1);
});

test('a turn that is longer than silence is borne takes none of that time', async (t) => {
  const { send, pass, ended } = scene(t);
  await Promise.all([send(), pass(5_000)]);
  await pass(999);
  assert.deepEqual(ended(), []);
  await pass(1);
  assert.equal(ended().length, 1);
});

test('nothing is owed by a connection that is closed, and each is watched once', async (t) => {
  const { client, connect, send, pass, ended } = scene(t);
  const former = client.stream;
  for (let times = 0; times < 3; times += 1) await send();
  assert.equal(former.listenerCount('data'), 1);
  former.emit('close');
  await pass(5_000);
  assert.deepEqual(ended(), []);
  connect();
  await send();
  assert.deepEqual(
    [former, client.stream].map((stream) => stream.listenerCount('data')),
    [1, 1],
  );
  await pass(1_000);
  assert.equal(ended().length, 1);
});

/** A client that bears a second of silence, as far as it is watched. */
function scene(t: TestContext) {
  const pass = fakeTimers(t);
  const destroy = t.mock.fn();
  const aStream = () => Object.assign(new EventEmitter(), { destroy });
  const client = {
    stream: aStream(),
    options: { socketTimeout: 1_000 },
    commandQueue: { length: 0 },
  };
  const watched = endWhenSilent(client as unknown as Redis) as unknown as { setSocketTimeout: () => void };
  const bytes = (): void => void client.stream.emit('data');
  return {
    client,
    bytes,
    connect: (): void => {
      client.stream = aStream();
      client.commandQueue.length = 0;
    },
    send: async (): Promise<void> => {
      client.commandQueue.length += 1;
      watched.setSocketTimeout();
      await setImmediate();
    },
    answer: async (answers: number): Promise<void> => {
      client.commandQueue.length -= answers;
      bytes();
      await setImmediate();
    },
    pass: async (ms: number): Promise<void> => {
      pass(ms);
      await setImmediate();
    },
    ended: () => destroy.mock.calls.map(({ arguments: given }) => given),
  };
}
