import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectedBytes } from '../../../src/wire/collected-bytes.ts';

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

test('a chunk that is taken over is copied only where another is before it, and is let go then', () => {
  const collected = new CollectedBytes();
  const [first, second] = ['fir', 'st'].map((text) => {
    const chunk = Buffer.allocUnsafeSlow(text.length);
    chunk.write(text);
    return chunk;
  }) as [Buffer, Buffer];
  collected.takeOver(first);
  assert.equal(collected.bytes.buffer, first.buffer);
  collected.takeOver(second);
  assert.equal(collected.take().toString(), 'first');
  assert.deepEqual([first.length, second.length], [0, 0]);
});
