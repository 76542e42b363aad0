import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { endOnceRead, linger } from '../../../src/wire/linger.ts';
import { fakeTimers } from '../../helpers/fake-timers.ts';

/** Something to read from, and whether it was read long enough. */
function lingerOn(t: TestContext) {
  const tick = fakeTimers(t);
  const client = new PassThrough();
  let over = 0;
  linger(client, () => {
    over += 1;
  });
  return {
    client,
    tick,
    /** So that what was late then is seen to be late. */
    pass: async (ms: number): Promise<void> => {
      tick(ms);
      await turn();
    },
    isOver: () => {
      assert.ok(over < 2, 'it is over once');
      return over === 1;
    },
  };
}

/** So that what was written has been read. */
async function send(client: PassThrough, bytes: Buffer): Promise<void> {
  client.write(bytes);
  await turn();
}

test('a client that goes on sending is read for 15 seconds', async (t) => {
  const { client, pass, isOver } = lingerOn(t);
  for (let second = 0; second < 14; second += 2) {
    await send(client, Buffer.alloc(1_000_000));
    await pass(2000);
    assert.equal(isOver(), false, `${second + 2} s`);
  }
  await send(client, Buffer.alloc(1));
  await pass(1000);
  assert.ok(isOver());
  await pass(3000);
  assert.ok(isOver());
});

for (const [what, more] of [
  ['falls silent', true],
  ['is silent', false],
] as const) {
  test(`a client that ${what} is read for 3 seconds more`, async (t) => {
    const { client, pass, isOver } = lingerOn(t);
    if (more) {
      await pass(2000);
      await send(client, Buffer.alloc(1));
    }
    await pass(2999);
    assert.equal(isOver(), false);
    await pass(1);
    assert.ok(isOver());
    client.end('more');
    await pass(15_000);
    assert.ok(isOver());
  });
}

test('a client was not silent if the process was held up, and had yet to read what came', async (t) => {
  const { client, tick, pass, isOver } = lingerOn(t);
  // Node runs its timers before it reads.
  tick(3000);
  await send(client, Buffer.alloc(1));
  assert.equal(isOver(), false);
  await pass(3000);
  assert.ok(isOver());
});

test('a client is read to its end, or for 128 MB, where small pieces count as more', async (t) => {
  const ended = lingerOn(t);
  ended.client.end();
  await turn();
  assert.ok(ended.isOver());

  const large = lingerOn(t);
  for (let megabyte = 0; megabyte < 128; megabyte += 1) await send(large.client, Buffer.alloc(1_048_576));
  assert.equal(large.isOver(), false);
  await send(large.client, Buffer.alloc(1));
  assert.ok(large.isOver());

  const small = lingerOn(t);
  for (let piece = 0; piece < 16_384; piece += 1) small.client.write(Buffer.alloc(1));
  await turn();
  assert.equal(small.isOver(), false);
  await send(small.client, Buffer.alloc(1));
  assert.ok(small.isOver());
});

for (const comes of [true, false]) {
  test(`a connection is read on behind a refusal if the rest of its request ${comes ? 'has come' : 'does not come, but no longer'}`, async (t) => {
    const tick = fakeTimers(t);
    const socket = { destroySoon: nothing };
    const req = Object.assign(new PassThrough(), { complete: false, method: 'POST', socket });
    let ended = 0;
    const res = { req, write: () => true, end: () => (ended += 1) } as unknown as ServerResponse;
    endOnceRead(res, '{}');
    if (comes) {
      req.complete = true;
      req.end();
    } else tick(3000);
    for (let turns = 0; turns < 3; turns += 1) await turn();
    assert.deepEqual([ended, socket.destroySoon === nothing], [1, !comes]);
  });
}

function nothing(): void {}
