import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slicesOf } from '../../../src/collections/slices.ts';

test('a list is cut into pieces in its order, of which the last may have fewer', () => {
  assert.deepEqual([...slicesOf([1, 2, 3, 4, 5], 2)], [[1, 2], [3, 4], [5]]);
  assert.deepEqual(
    [...slicesOf([1, 2, 3, 4], 2)],
    [
      [1, 2],
      [3, 4],
    ],
  );
  assert.deepEqual([...slicesOf([], 2)], []);
});
