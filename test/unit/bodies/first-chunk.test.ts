import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitForFirst } from '../../../src/bodies/first-chunk.ts';

async function* letters(): AsyncGenerator<Buffer, void> {
  for (const letter of ['a', 'b', 'c']) yield Buffer.from(letter);
}

async function* broken(): AsyncGenerator<Buffer, void> {
  yield await Promise.reject(new Error('too slow'));
}

test('all chunks are read, also by who comes after one that took no more than the first', async () => {
  const read = await waitForFirst(letters());
  for await (const chunk of read()) {
    assert.equal(chunk.toString(), 'a');
    break;
  }
  assert.equal(Buffer.concat(await Array.fromAsync(read())).toString(), 'abc');
});

test('of nothing there is no first chunk, however often it is read', async () => {
  const none = letters();
  await none.return();
  const read = await waitForFirst(none);
  assert.deepEqual(await Array.fromAsync(read()), []);
  assert.deepEqual(await Array.fromAsync(read()), []);
});

test('what breaks before its first chunk is not waited for', async () => {
  await assert.rejects(waitForFirst(broken()), /too slow/);
});
