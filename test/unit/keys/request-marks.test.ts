import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remember } from '../../../src/keys/request-marks.ts';
import { aKey } from '../../helpers/a-key.ts';

test('a key remembers its first named request and the last seven, however many there are', () => {
  let key = aKey();
  for (let at = 0; at < 20; at += 1) key = remember(key, { name: `r${at}`, content: '' });
  assert.deepEqual(
    key.requests.map(({ name }) => name),
    ['r0', 'r13', 'r14', 'r15', 'r16', 'r17', 'r18', 'r19'],
  );
});
