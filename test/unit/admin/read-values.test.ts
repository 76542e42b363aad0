import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../../src/admin/operations.ts';
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

test('what does not fit a pattern is told how it is written, by examples that fit', () => {
  const all = operations.flatMap(({ query, body }) =>
    Object.entries({ ...query, ...(body.kind === 'values' ? body.fields : {}) }),
  );
  const told = all.flatMap(([name, schema]) => {
    const { pattern, examples } = schema;
    if (typeof pattern !== 'string') return [];
    assert.ok(Array.isArray(examples));
    for (const example of examples) assert.match(String(example), new RegExp(pattern, 'u'));
    return [messageOf(() => readValues({ [name]: schema }, { [name]: '?' }, { kind: 'field' }))];
  });
  assert.deepEqual(told.toSorted(), [
    'method must be written like GET or POST',
    'overlap must be written like 30m, 24h or 7d',
  ]);
});

function messageOf(attempt: () => unknown): string {
  try {
    attempt();
    return '';
  } catch (error) {
    return (error as KeyProblem).message;
  }
}
