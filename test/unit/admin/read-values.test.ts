import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '../../../src/admin/operations.ts';
import { readQuery, readValues } from '../../../src/admin/read-values.ts';
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

test('without bounds a whole number begins at 0', () => {
  for (const [count, says] of [
    [0, ''],
    [-1, `count is not a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`],
  ] as const)
    assert.equal(
      messageOf(() => readValues({ count: { type: 'integer' } }, { count }, { kind: 'field' })),
      says,
    );
});

test('words of a query are what their parameters are of, text where they are not written so, and lists only where they may be', () => {
  const all = {
    text: { type: 'string' },
    count: { type: 'integer' },
    flag: { type: 'boolean' },
    list: { type: 'array', items: { type: 'string' } },
  } as const;
  for (const [query, values] of [
    ['', {}],
    ['text=007&count=007&list=007', { text: '007', count: 7, list: ['007'] }],
    ['list=a&flag=true&list=true', { list: ['a', 'true'], flag: true }],
    ['flag=false&text=false&count=0', { flag: false, text: 'false', count: 0 }],
    ['flag=1&count=1e3&text', { flag: '1', count: '1e3', text: '' }],
    ['count=999999999999999', { count: 999_999_999_999_999 }],
    ['count=1000000000000000', { count: '1000000000000000' }],
    // It is for `readValues` to say that there is no such parameter.
    ['other=1&other=2&__proto__=3', { other: '1', ['__proto__']: '3' }],
  ] as const)
    assert.deepEqual(readQuery(query, all), values, query);
  for (const query of ['text=a&text=a', 'count=1&flag=true&count=2', 'flag=true&flag=true&flag=true'])
    assert.match(
      messageOf(() => readQuery(query, all)),
      /^(?:text|count|flag) is given twice$/,
    );
});

function messageOf(attempt: () => unknown): string {
  try {
    attempt();
    return '';
  } catch (error) {
    return (error as KeyProblem).message;
  }
}
