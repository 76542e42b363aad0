import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyId, isKeyId } from '../../../src/keys/key-id.ts';

test('ids sort by the moment at which they were made, and those of one moment differ', () => {
  const moments = [1, 31, 32, 1023, 1024, 1_800_000_000_000, 1_800_000_000_001, 253_402_300_799_999];
  const ids = moments.map(createKeyId);
  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids) assert.ok(isKeyId(id) && id.length === 24, id);
  assert.equal(new Set(Array.from({ length: 100 }, () => createKeyId(1))).size, 100);
});
