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

test('a value of another type is refused, and one that is beyond its bounds', () => {
  const all = {
    text: { type: 'string', maxLength: 3 },
    count: { type: 'integer', minimum: 1, maximum: 5 },
    flag: { type: 'boolean' },
    list: { type: 'array', maxItems: 2, items: { type: 'string', maxLength: 3 } },
  } as const;
  const saysOf = (written: Readonly<Record<string, unknown>>) =>
    messageOf(() => readValues(all, written, { kind: 'field' }));
  for (const written of [{ text: 'abc' }, { count: 1 }, { count: 5 }, { flag: false }, { list: ['abc', ''] }])
    assert.equal(saysOf(written), '');
  for (const text of [5, null, ['a']]) assert.equal(saysOf({ text }), 'text is not text');
  for (const count of [0, 6, 1.5, '1', null, true])
    assert.equal(saysOf({ count }), 'count is not a whole number from 1 to 5');
  for (const flag of ['true', 1, null]) assert.equal(saysOf({ flag }), 'flag is neither true nor false');
  for (const list of ['a', null, { length: 0 }]) assert.equal(saysOf({ list }), 'list is not a list');
  assert.equal(saysOf({ list: ['a', 5] }), 'list is not text');
  assert.equal(saysOf({ list: ['a', 'abcd'] }), 'list is longer than 3 characters');
  assert.equal(saysOf({ list: ['a', 'b', 'c'] }), 'list has more than 2 entries');
});

function messageOf(attempt: () => unknown): string {
  try {
    attempt();
    return '';
  } catch (error) {
    return (error as KeyProblem).message;
  }
}
