import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileBodySchema } from '../../../helpers/compile-body-schema.ts';
import { doesNotHang } from '../../../helpers/no-hang.ts';

const text = { type: 'string' };
const branch = (name: 'then' | 'else', schema: object): object => ({ [name]: schema });
const strict = { unevaluatedProperties: false };
const strictItems = { unevaluatedItems: false };
const kinds = {
  oneOf: [
    { required: ['a'], properties: { a: true, b: true } },
    { required: ['z'], properties: { z: true } },
  ],
};
const card = { if: { properties: { kind: { const: 'card' } }, required: ['kind'] } };

/** What fits and what does not, by the letter of JSON Schema 2020-12. */
const cases: [name: string, schema: object, fits: unknown[], not: unknown[]][] = [
  [
    'a pattern beside alternatives with a pattern, and nothing is counted',
    {
      type: 'object',
      patternProperties: { '^x-': text },
      oneOf: [{ required: ['kind'] }, { required: ['other'], patternProperties: { '^y-': text } }],
    },
    [
      { kind: 1, 'x-a': 's' },
      { other: 1, 'x-a': 's', 'y-a': 's' },
    ],
    [
      { kind: 1, 'x-a': 1 },
      { other: 1, 'y-a': 1 },
    ],
  ],
  [
    'a pattern beside alternatives, counted',
    {
      ...strict,
      patternProperties: { '^a': true },
      anyOf: [{ required: ['k'], properties: { k: true } }, true],
    },
    [{ ax: 1 }, { ax: 1, k: 1 }],
    [{ ax: 1, l: 1 }],
  ],
  [
    'the fields of the alternative that another object of the list has taken',
    { items: { ...kinds, ...strict } },
    [[{ a: 1, b: 1 }, { z: 1 }]],
    [
      [
        { a: 1, b: 1 },
        { z: 1, b: 2 },
      ],
    ],
  ],
  ['an inherited name', { ...kinds, ...strict }, [{ a: 1 }], [{ a: 1, constructor: 1 }]],
  [
    'the fields of "then" and "else"',
    {
      ...card,
      ...branch('then', { properties: { cvc: true } }),
      else: { properties: { kind: true, iban: true } },
      ...strict,
    },
    [
      { kind: 'card', cvc: 1 },
      { kind: 'cash', iban: 1 },
    ],
    [
      { kind: 'card', iban: 1 },
      { kind: 'cash', cvc: 1 },
    ],
  ],
  [
    'the fields of a part by reference, and its own',
    { $ref: '#/$defs/p', properties: { b: true }, ...strict, $defs: { p: { properties: { a: true } } } },
    [{ a: 1, b: 1 }],
    [{ c: 1 }],
  ],
  [
    'the fields of a part by its anchor',
    { $dynamicRef: '#p', ...strict, $defs: { p: { $dynamicAnchor: 'p', properties: { a: true } } } },
    [{ a: 1 }],
    [{ c: 1 }],
  ],
  [
    'the fields of a part that takes any',
    { allOf: [{ additionalProperties: true }], ...strict },
    [{ a: 1 }],
    [],
  ],
  [
    'the fields of a dependent schema',
    { properties: { a: true }, dependentSchemas: { a: { properties: { b: true } } }, ...strict },
    [{ a: 1, b: 1 }],
    [{ b: 1 }],
  ],
  ['what a "not" has looked at', { not: { not: { properties: { a: true } } }, ...strict }, [{}], [{ a: 1 }]],
  [
    'a schema for the rest',
    { properties: { a: true }, unevaluatedProperties: text },
    [{ a: 1, b: 'b' }],
    [{ b: 1 }],
  ],
  [
    'a schema for the rest, and all is evaluated then',
    { allOf: [{ unevaluatedProperties: text }], ...strict },
    [{ a: 'a' }],
    [{ a: 1 }],
  ],
  [
    'the fields of alternatives from their neighbours',
    { properties: { a: true }, anyOf: [{ properties: { b: true }, ...strict }] },
    [{ b: 1 }],
    [{ a: 1 }],
  ],
  [
    'the items that an array must contain',
    { prefixItems: [text], contains: { const: 'admin' }, ...strictItems },
    [
      ['a', 'admin'],
      ['admin', 'admin'],
    ],
    [['a', 7, 'admin'], ['a']],
  ],
  [
    'the items of an alternative that does not fit',
    { anyOf: [true, { items: true, const: 2 }], ...strictItems },
    [[], {}],
    [[{}]],
  ],
  [
    'a schema for the rest of the items',
    { prefixItems: [true], unevaluatedItems: text },
    [[1, 'a'], []],
    [[1, 1]],
  ],
  [
    'names that are numbers',
    { properties: { 0: true }, ...strictItems, ...strict },
    [{ 0: 1 }, []],
    [[1], { 1: 1 }],
  ],
];

describe('what a schema has not evaluated', () => {
  for (const [title, schema, fits, not] of cases) {
    it(title, () => {
      const check = compileBodySchema(schema);
      for (const body of fits) assert.equal(check(body), undefined, JSON.stringify(body));
      for (const body of not) assert.notEqual(check(body), undefined, JSON.stringify(body));
    });
  }

  it('is called by its place', () => {
    assert.equal(
      compileBodySchema({ items: strict })([{ secret: 1 }]),
      'unknown field in [0] is not allowed',
    );
    assert.equal(compileBodySchema(strictItems)([1]), '[0] is not allowed');
    const schema = { prefixItems: [true], unevaluatedItems: { properties: { a: text } } };
    assert.equal(compileBodySchema(schema)([1, { a: 1 }]), '[1].a must be a string');
  });

  it('is found in a body of many levels, for which a schema refers to itself', () => {
    const node = {
      anyOf: [
        { required: ['child'], properties: { child: { $ref: '#/$defs/node' } } },
        { required: ['leaf'], properties: { leaf: true } },
      ],
      ...strict,
    };
    const check = compileBodySchema({ $ref: '#/$defs/node', $defs: { node } });
    doesNotHang(() => {
      assert.equal(check(nest({ leaf: 1 })), undefined);
      assert.notEqual(check(nest({ leaf: 1, other: 1 })), undefined);
    });
  });
});

function nest(leaf: object): object {
  return Array.from({ length: 60 }).reduce<object>((child) => ({ child }), leaf);
}
