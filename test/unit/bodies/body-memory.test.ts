import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyMemory, inMemory } from '../../../src/bodies/body-memory.ts';

test('what a body holds is given back once, however often it is released', () => {
  const memory = new BodyMemory(10);
  assert.ok(memory.take(6));
  const body = inMemory(Buffer.alloc(6), memory);
  assert.equal(memory.taken, 6);
  assert.ok(!memory.take(5));
  body.release();
  body.release();
  assert.equal(memory.taken, 0);
  assert.ok(!memory.take(11));
  assert.ok(memory.take(10));
});
