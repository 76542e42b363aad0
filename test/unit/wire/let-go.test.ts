import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letGo } from '../../../src/wire/let-go.ts';

test('memory is given back where a chunk fills it, once', () => {
  const chunk = Buffer.from(new ArrayBuffer(65_536));
  letGo(chunk);
  assert.equal(chunk.length, 0);
  letGo(chunk);
});

for (const { name, chunk } of [
  { name: 'ends behind the chunk', chunk: Buffer.from(new ArrayBuffer(65_536), 0, 40_000) },
  { name: 'begins before the chunk', chunk: Buffer.from(new ArrayBuffer(65_536), 49_152) },
  { name: 'is that of the pool', chunk: Buffer.allocUnsafe(16_384) },
  { name: 'is that of the pool, and the chunk a string', chunk: Buffer.from('x'.repeat(20_000)) },
]) {
  test(`memory is left alone that ${name}`, () => {
    const { length } = chunk;
    letGo(chunk);
    assert.equal(chunk.length, length);
  });
}

test('memory that is shared between threads is left alone', () => {
  const chunk = Buffer.from(new SharedArrayBuffer(65_536));
  letGo(chunk);
  assert.equal(chunk.length, 65_536);
});
