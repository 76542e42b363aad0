import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectedBytes } from '../../src/collected-bytes.ts';

test('what was taken is not written to again', () => {
  const collected = new CollectedBytes();
  for (const chunk of ['fir', 'st']) collected.add(Buffer.from(chunk));
  const first = collected.take();
  collected.add(Buffer.from('later'));
  assert.deepEqual([first, collected.take()].map(String), ['first', 'later']);
});

test('the buffer doubles, and does not grow beyond what it may hold as long as that is enough', () => {
  const collected = new CollectedBytes(1000);
  const sizes = new Set<number>();
  for (let at = 0; at < 100; at += 1) {
    collected.add(Buffer.alloc(10));
    sizes.add(collected.bytes.buffer.byteLength);
  }
  assert.deepEqual([...sizes], [10, 20, 40, 80, 160, 320, 640, 1000]);
  collected.add(Buffer.alloc(1));
  assert.equal(collected.bytes.buffer.byteLength, 1001);
});
