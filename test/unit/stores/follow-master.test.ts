import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { followMaster } from '../../../src/stores/redis/client/follow-master.ts';

const [first, second] = ['10.0.0.1', '10.0.0.2'];

test('who is at a master that was replaced is led anew, as often as it is led back', async (t) => {
  const { client, sentinel, look } = scene(t);
  assert.deepEqual(await look(), []);
  Object.assign(sentinel, { master: second, epoch: 6 });
  assert.deepEqual(await look(), ['client', 'sentinel']);
  assert.deepEqual(await look(), ['client', 'sentinel']);
  client.stream.remoteAddress = second;
  assert.deepEqual(await look(), []);
  // It may be the master again, and this sentinel not have heard: another is asked first.
  client.stream.remoteAddress = first;
  assert.deepEqual(await look(), ['sentinel']);
  assert.deepEqual(await look(), ['client', 'sentinel']);
  client.stream.remoteAddress = second;
  assert.deepEqual(await look(), []);
  client.stream.remoteAddress = first;
  assert.deepEqual(await look(), ['sentinel']);
});

test('what a sentinel says that has not heard of the failover is passed over, and another is asked', async (t) => {
  const { client, sentinel, look } = scene(t, { master: second, epoch: 6 });
  client.stream.remoteAddress = second;
  assert.deepEqual(await look(), []);
  Object.assign(sentinel, { master: first, epoch: 5 });
  assert.deepEqual(await look(), ['sentinel']);
  assert.deepEqual(await look(), ['sentinel']);
  Object.assign(sentinel, { master: second, epoch: 6 });
  assert.deepEqual(await look(), []);
});

test('who has found the way by itself stays, and so does who is at what has the epoch of the former', async (t) => {
  const { client, sentinel, look } = scene(t);
  await look();
  client.stream.remoteAddress = second;
  Object.assign(sentinel, { master: second, epoch: 6 });
  assert.deepEqual(await look(), []);
  // It is the master again after one more failover.
  client.stream.remoteAddress = first;
  Object.assign(sentinel, { master: first, epoch: 7 });
  assert.deepEqual(await look(), []);
  // Sentinels that were set up anew.
  Object.assign(sentinel, { master: 'name' });
  assert.deepEqual(await look(), ['client']);
  assert.deepEqual(await look(), []);
  Object.assign(sentinel, { master: first });
  assert.deepEqual(await look(), []);
});

test('where sentinels say names it is not known where it is, and a client that is connecting is left to itself', async (t) => {
  const { client, sentinel, look } = scene(t, { master: 'one.local' });
  assert.deepEqual(await look(), []);
  client.status = 'connecting';
  Object.assign(sentinel, { master: 'two.local', epoch: 6 });
  assert.deepEqual(await look(), []);
  client.status = 'ready';
  assert.deepEqual(await look(), ['client']);
  assert.deepEqual(await look(), []);
});

test('a sentinel without an answer, or with another, says nothing', async (t) => {
  const { sentinel, look } = scene(t);
  await look();
  sentinel.emit('error', new Error('away'));
  for (const over of [
    { answers: async () => Promise.reject(new Error('away')) },
    { answers: async () => null },
    { answers: async () => ['ip', first] },
    { answers: async (what: string) => (what === 'MASTER' ? null : [second, '6379']) },
  ]) {
    Object.assign(sentinel, over);
    assert.deepEqual(await look(), []);
  }
});

test('nothing is asked any more once it is stopped', async (t) => {
  const { sentinel, look, stop } = scene(t);
  await look();
  Object.assign(sentinel, { master: second, epoch: 6 });
  stop();
  assert.deepEqual(await look(), ['sentinel for good']);
});

/** A client at the first address, and a sentinel that names it. */
function scene(t: TestContext, named: object = {}) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const left: string[] = [];
  const client = Object.assign(new EventEmitter(), {
    status: 'ready',
    stream: { remoteAddress: first, remotePort: 6379 },
    disconnect: (again: boolean): void => {
      left.push(again ? 'client' : 'client for good');
      client.emit('connecting');
    },
  });
  const sentinel = Object.assign(new EventEmitter(), {
    master: first,
    epoch: 5,
    answers: async (what: string): Promise<unknown> =>
      what === 'MASTER'
        ? ['name', 'main', 'config-epoch', String(sentinel.epoch)]
        : [sentinel.master, '6379'],
    call: (_command: string, what: string) => sentinel.answers(what),
    disconnect: (again = false) => void left.push(again ? 'sentinel' : 'sentinel for good'),
    ...named,
  });
  const stop = followMaster(client as unknown as Redis, sentinel as unknown as Redis, 'main');
  client.emit('connecting');
  return {
    client,
    sentinel,
    stop,
    /** Who had to leave its connection since the last look. */
    look: async (): Promise<readonly string[]> => {
      t.mock.timers.tick(500);
      await setImmediate();
      return left.splice(0);
    },
  };
}
