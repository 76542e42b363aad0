import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readValues } from '../../../src/admin/read-values.ts';
import { KeyProblem } from '../../../src/keys/key-problem.ts';

const fields = { owner: { type: 'string', maxLength: 4 } } as const;
const read = (owner: string) => readValues(fields, { owner }, { kind: 'parameter' }).owner;

test('the length of a text is counted in characters, whatever units they take', () => {
  for (const owner of ['', 'abcd', '😀😀😀😀', 'äbc😀']) assert.equal(read(owner), owner);
  for (const owner of ['abcde', '😀😀😀😀😀', 'äbcd😀', 'abcdefghi']) {
    assert.throws(
      () => read(owner),
      (error) => error instanceof KeyProblem && error.message === 'owner is longer than 4 characters',
    );
  }
});
