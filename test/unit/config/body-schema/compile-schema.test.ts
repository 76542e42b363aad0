import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { SchemaProblems } from '../../../../src/config/body-schema/schema-problem.ts';
import { collectGarbage } from '../../../helpers/collect-garbage.ts';
import { compileBodySchema } from '../../../helpers/compile-body-schema.ts';
import { doesNotHang } from '../../../helpers/no-hang.ts';
import { until } from '../../../helpers/poll.ts';

const name = { type: 'string', minLength: 1, maxLength: 256, pattern: '\\S' };
const person = {
  type: 'object',
  required: ['firstName', 'lastName'],
  properties: { firstName: name, lastName: name },
};
const names = {
  type: 'object',
  properties: {
    names: {
      type: 'array',
      minItems: 1,
      maxItems: 3,
      items: {
        type: 'object',
        required: ['first'],
        properties: { first: { enum: ['ada', 'alan'] } },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
};
const of = (schema: object) => ({ type: 'object', properties: { a: schema } });
const shapes = {
  type: 'object',
  oneOf: [
    { required: ['radius'], properties: { kind: { const: 'circle' }, radius: { type: 'number' } } },
    { required: ['side'], properties: { kind: { const: 'square' }, side: { type: 'number' } } },
  ],
};
const card: unknown = JSON.parse(`{
  "type": "object",
  "if": { "required": ["card"] },
  "then": { "required": ["cvc"], "properties": { "cvc": { "minLength": 3 } } },
  "else": { "required": ["iban"] }
}`);

const refused: [schema: unknown, body: unknown, sentence: string][] = [
  [person, [], 'the body must be an object'],
  [person, 'text', 'the body must be an object'],
  [person, { firstName: 1, lastName: 'b' }, 'firstName must be a string'],
  [person, { firstName: 'a' }, 'lastName is required'],
  [{ dependentRequired: { '': ['a'] } }, { '': 1 }, 'a is required beside ""'],
  [{ properties: { '': { type: 'null' } } }, { '': 1 }, '"" must be null'],
  [person, { firstName: '', lastName: 'b' }, 'firstName must not be empty'],
  [person, { firstName: ' \t', lastName: 'b' }, 'firstName must not be blank'],
  [person, { firstName: 'a'.repeat(257), lastName: 'b' }, 'firstName must not be longer than 256 characters'],
  [of({ minLength: 2 }), { a: 'x' }, 'a must not be shorter than 2 characters'],
  [of({ maxLength: 1 }), { a: 'xy' }, 'a must not be longer than 1 character'],
  [of({ maxLength: 0 }), { a: 'x' }, 'a must be empty'],
  [of({ pattern: '^[A-Z]$' }), { a: 'x' }, 'a does not have the required form'],
  [of({ type: ['string', 'number', 'null'] }), { a: [] }, 'a must be a string, a number or null'],
  [of({ type: 'boolean' }), { a: 'true' }, 'a must be true or false'],
  [of({ type: 'integer' }), { a: 1.5 }, 'a must be an integer'],
  [of({ minimum: 3 }), { a: 2 }, 'a must not be less than 3'],
  [of({ maximum: 3 }), { a: 4 }, 'a must not be greater than 3'],
  [of({ exclusiveMinimum: 0 }), { a: 0 }, 'a must be greater than 0'],
  [of({ exclusiveMaximum: 1 }), { a: 1 }, 'a must be less than 1'],
  [of({ multipleOf: 0.01 }), { a: 19.999 }, 'a must be a multiple of the allowed step'],
  [of({ multipleOf: 5 }), { a: 7 }, 'a must be a multiple of the allowed step'],
  [names, { names: [{ first: 'ada' }, { first: 'x' }] }, 'names[1].first must be one of the allowed values'],
  [names, { names: [{}] }, 'names[0].first is required'],
  [names, { names: [] }, 'names must not be empty'],
  [of({ minItems: 2 }), { a: [1] }, 'a must have at least 2 items'],
  [of({ maxItems: 1 }), { a: [1, 2] }, 'a must not have more than 1 item'],
  [of({ uniqueItems: true }), { a: [1, '1', 1] }, 'a must not hold the same item twice'],
  [
    { uniqueItems: true },
    [
      { x: 1, y: [2] },
      { y: [2], x: 1 },
    ],
    'the body must not hold the same item twice',
  ],
  [of({ prefixItems: [{}, {}], items: false }), { a: [1, 2, 3] }, 'a must not have more than 2 items'],
  [of({ prefixItems: [{}], unevaluatedItems: false }), { a: [1, 2] }, 'a[1] is not allowed'],
  [of({ contains: { const: 1 } }), { a: [2] }, 'a must hold at least 1 matching item'],
  [of({ contains: { const: 1 }, maxContains: 2 }), { a: [1, 1, 1] }, 'a must hold 1 to 2 matching items'],
  [of({ contains: { const: 1 }, maxContains: 1 }), { a: [1, 1] }, 'a must hold exactly 1 matching item'],
  [of({ minProperties: 2 }), { a: {} }, 'a must have at least 2 fields'],
  [of({ maxProperties: 2 }), { a: { x: 1, y: 2, z: 3 } }, 'a must not have more than 2 fields'],
  [{ additionalProperties: false }, { secret: 1 }, 'unknown field is not allowed'],
  [names, { names: [{ first: 'ada', secret: 1 }] }, 'unknown field in names[0] is not allowed'],
  [
    { allOf: [person], unevaluatedProperties: false },
    { firstName: 'a', lastName: 'b', secret: 1 },
    'unknown field is not allowed',
  ],
  [names, { secret: 'x' }, '* must be an object'],
  [names, { secret: { 4111: 1 } }, '*.* must be a string'],
  [{ patternProperties: { '^x-': { type: 'string' } } }, { 'x-secret': 1 }, '* must be a string'],
  [{ propertyNames: { maxLength: 3 } }, { secret: 1 }, 'a field name in the body is not allowed'],
  [of({ propertyNames: { pattern: '^a' } }), { a: { secret: 1 } }, 'a field name in a is not allowed'],
  [{ properties: { 'a/b~c': { type: 'string' } } }, { 'a/b~c': 1 }, 'a/b~c must be a string'],
  [of(false as unknown as object), { a: 1 }, 'a is not allowed'],
  [false, {}, 'the body is not allowed'],
  ...['valueOf', 'toString', 'constructor'].map((member): (typeof refused)[number] => [
    of({ const: { b: 1 } }),
    { a: { [member]: 1 } },
    'a must have the one allowed value',
  ]),
  [of({ const: { b: 1 } }), { a: { b: 1, c: 2 } }, 'a must have the one allowed value'],
  [of({ const: {} }), { a: [] }, 'a must have the one allowed value'],
  [of({ const: [1] }), { a: [1, 2] }, 'a must have the one allowed value'],
  [of({ enum: [null, { b: [1] }] }), { a: { valueOf: 1 } }, 'a must be one of the allowed values'],
  [of({ const: 1 }), { a: 2 }, 'a must have the one allowed value'],
  [of({ not: { type: 'string' } }), { a: 'x' }, 'a has a form that is not allowed'],
  [{ dependentRequired: { card: ['cvc'] } }, { card: 1 }, 'cvc is required beside card'],
  [of({ dependentRequired: { b: ['c'] } }), { a: { b: 1 } }, 'a.c is required beside b'],
  [{ dependentSchemas: { card: { required: ['cvc'] } } }, { card: 1 }, 'cvc is required'],
  [{ dependencies: { card: ['cvc'] } }, { card: 1 }, 'cvc is required beside card'],
  [{ anyOf: [{ minLength: 2 }, { minLength: 3 }] }, 'x', 'the body must have one of the allowed forms'],
  [{ oneOf: [{ required: ['a'] }, {}, true] }, {}, 'the body must have only one of the allowed forms'],
  [of({ maxItems: 0 }), { a: [1] }, 'a must be empty'],
  [card, { card: 1 }, 'cvc is required'],
  [card, { card: 1, cvc: '1' }, 'cvc must not be shorter than 3 characters'],
  [card, {}, 'iban is required'],
  [{ anyOf: [{ required: ['email'] }, { required: ['phone'] }] }, {}, 'email or phone is required'],
  [of({ anyOf: [{ type: 'string' }, { type: 'null' }] }), { a: 1 }, 'a must be a string or null'],
  [
    of({ anyOf: [{ type: 'null' }, { minLength: 2, type: 'string' }] }),
    { a: 'x' },
    'a must not be shorter than 2 characters',
  ],
  [of({ anyOf: [{ type: 'null' }, of({ type: 'string' })] }), { a: { a: 1 } }, 'a.a must be a string'],
  [of({ anyOf: [{ const: 1 }, { enum: [2, 3] }] }), { a: 4 }, 'a must be one of the allowed values'],
  [of({ anyOf: [{ minimum: 5 }, { multipleOf: 2 }] }), { a: 3 }, 'a must have one of the allowed forms'],
  [shapes, { kind: 'circle' }, 'radius or side is required'],
  [shapes, { kind: 'square', side: '1' }, 'side must be a number'],
  [of({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }), { a: 3 }, 'a must have only one of the allowed forms'],
  [{ $ref: '#/$defs/p', $defs: { p: person } }, { firstName: 'a' }, 'lastName is required'],
  [
    { $ref: '#/$defs/p', maxProperties: 1, $defs: { p: {} } },
    { a: 1, b: 2 },
    'the body must not have more than 1 field',
  ],
  [of({ $ref: '#' }), { a: { a: { a: 1 } } }, 'a.a.a must be an object'],
  [
    { properties: { a: { $ref: '#x' } }, $defs: { x: { $anchor: 'x', type: 'string' } } },
    { a: 1 },
    'a must be a string',
  ],
  [{ required: ['constructor'] }, {}, 'constructor is required'],
  [{ items: { type: 'string' } }, ['a', 1], '[1] must be a string'],
];

const accepted: [name: string, schema: unknown, body: unknown][] = [
  ['the name request', person, { firstName: 'Ada', lastName: 'Lovelace' }],
  ['unknown fields', person, { firstName: 'Ada', lastName: 'Lovelace', born: 1815 }],
  ['256 characters beyond the first plane', of({ maxLength: 256 }), { a: '\u{1f600}'.repeat(256) }],
  ['anything for an empty schema', {}, null],
  ['anything for true', true, 1],
  ['anything for the dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema' }, 1],
  ['anything for the dialect with a mark', { $schema: 'https://json-schema.org/draft/2020-12/schema#' }, 1],
  ['a number where text or a number is taken', of({ type: ['string', 'number'], enum: [1, 'a'] }), { a: 1 }],
  [
    'nothing that fits where that is asked',
    of({ contains: true, minContains: 0, maxContains: 0 }),
    { a: [] },
  ],
  [
    'what a pattern of names lets in',
    { required: ['ab'], patternProperties: { '^a': {} }, additionalProperties: false },
    { ab: 1 },
  ],
  [
    'a required name of words that are names too, where a pattern lets it in',
    { properties: { a: true, b: true }, required: ['a b'], patternProperties: { '^a b$': {} } },
    { 'a b': 1 },
  ],
  [
    'a text of which YAML has read the characters that are left out',
    of({ pattern: '^[^\0-\x1f\x7f]+$' }),
    { a: 'x' },
  ],
  ['a backspace within brackets, which YAML has read', of({ pattern: '[\b]' }), { a: '\b' }],
  ['a type left open', of({ nullable: true, type: 'string' }), { a: null }],
  [
    'what OpenAPI says of a schema for readers, whatever it holds',
    {
      oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }],
      discriminator: { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat' } },
      'x-owner': { $id: '1', type: 1 },
      $defs: {
        Cat: {
          properties: { kind: { const: 'cat', example: { type: 1, $id: '1' } } },
          xml: { name: 'Cat' },
          example: { $id: '1' },
        },
        Dog: { properties: { kind: { const: 'dog' } }, externalDocs: { url: 'https://example.com' } },
      },
    },
    { kind: 'dog' },
  ],
  [
    'inherited names that are absent',
    { properties: { constructor: { type: 'string' }, toString: { type: 'string' } } },
    {},
  ],
  [
    'inherited names as fields',
    { additionalProperties: { type: 'number' } },
    { constructor: 1, hasOwnProperty: 2 },
  ],
  ['1e300 as a multiple of 1', of({ multipleOf: 1 }), { a: 1e300 }],
  ['1e-7 as a multiple of 1e-7', of({ multipleOf: 1e-7 }), { a: 1e-7 }],
  [
    'different items',
    of({ uniqueItems: true }),
    { a: [1, '1', [1], ['1'], {}, [], null, 'null', true, [[]]] },
  ],
  ['repeated items where they may', of({ uniqueItems: false }), { a: [1, 1] }],
  [
    'a constant with a constructor',
    of({ const: { constructor: { b: 1 } } }),
    { a: { constructor: { b: 1 } } },
  ],
  ['a listed object in another order', of({ enum: [1, { b: 1, c: [2] }] }), { a: { c: [2], b: 1 } }],
  ['items that none has to be', of({ contains: { const: 1 }, minContains: 0 }), { a: [2] }],
  [
    'items of which all are evaluated',
    of({ contains: { const: 1 }, minContains: 0, unevaluatedItems: false }),
    { a: [1, 1] },
  ],
];

const formats: Readonly<Record<string, readonly [fit: unknown[], not: unknown[]]>> = {
  email: [[], ['secret']],
  'date-time': [
    ['2026-01-01T10:00:00.5+01:00'],
    [
      '2026-02-30T00:00:00Z',
      '2026-01-01\n10:00:00Z',
      '2026-01-01 10:00:00Z',
      '2026-01-01T10:00:00+01',
      '2026-01-01T10:00:00+0100',
    ],
  ],
  time: [[], ['10:00:00+01']],
  uuid: [['0198c2a4-0d6b-7c33-8a6e-1f2d3c4b5a69'], ['urn:uuid:0198c2a4-0d6b-7c33-8a6e-1f2d3c4b5a69']],
  uri: [
    ['http://u:p@a.example:80/b:c', 'http://[::1]:80?a:b', 'http:///b', 'urn:a:b', 'a:/b:c'],
    ['http://a.example:x/', 'http://::1/', 'http:/[::1]/', 'http://a/"', `http://${'a'.repeat(1e6)}`],
  ],
  'uri-reference': [
    ['', '/a:b', './a:b', '?a:b', '#a:b', '//a.example:80', '//a.example:', 'a:b'],
    ['//a.example:x/', ':b', '1:b', './:x"', 'a"b'],
  ],
  iri: [['http://bücher.example/日?ü=1'], ['http://bücher.example/<']],
  'iri-reference': [['../日'], ['ü"']],
  'idn-email': [['jürgen@bücher.example'], ['jürgen']],
  'idn-hostname': [['bücher.example'], ['-ü.example', 'ü/b']],
  int32: [[2 ** 31 - 1], [2 ** 31]],
  int64: [[-(2 ** 63)], [1e300]],
  regex: [['(?<a>a)|b'], ['(?<a>a)|'.repeat(100)]],
  byte: [
    ['AAA=', '', 'AAAA'.repeat(2_000_000)],
    ['<x>\nAAAA', 'AA-_', 'AAAAA', 'A==='],
  ],
};

function circleOf(keyword: string): object {
  const back = { $ref: '#/$defs/b' };
  if (keyword === '$ref') return back;
  if (keyword === 'not') return { not: back };
  if (keyword === 'dependentSchemas') return { dependentSchemas: { a: back } };
  if (keyword.endsWith('Of')) return { [keyword]: [{ type: 'string' }, back] };
  return { if: {}, else: {}, [keyword]: back };
}

/** Each with its one fault: the place, and what is wrong there. */
const badSchemas: [schema: unknown, fault: string][] = [
  [of({ required: ['b', ''] }), '/properties/a/required a field without a name cannot be asked for'],
  ...['dependentRequired', 'dependencies'].map((keyword): (typeof badSchemas)[number] => [
    { [keyword]: { a: ['', 'b'] } },
    `/${keyword} a field without a name cannot be asked for`,
  ]),
  [
    { type: 'array', contains: { const: 1 }, maxContains: 0 },
    '/maxContains "maxContains" is less than "minContains", which is 1 where it is not given',
  ],
  [{ maxLenght: 1 }, '/maxLenght unknown keyword "maxLenght", did you mean "maxLength"?'],
  [{ note: 1 }, '/note unknown keyword "note", did you mean "not"?'],
  [{ $defs: { 'a/b~c': { typ: 1 } } }, '/$defs/a~1b~0c/typ unknown keyword "typ", did you mean "type"?'],
  [{ $async: true }, '/$async unknown keyword "$async"'],
  [
    { properties: { a: true, b: true }, required: ['a', 'a b'] },
    '/required/1 a comma is missing between two names',
  ],
  [
    { properties: { a: true, b: true }, required: ['a b'], additionalProperties: false },
    '/required/0 a comma is missing between two names',
  ],
  [
    { pattern: '[a\\]\\[]\b' },
    '/pattern a backslash is no longer there: put the expression in single quotes',
  ],
  [{ pattern: '^\bfoo' }, '/pattern a backslash is no longer there: put the expression in single quotes'],
  [{ type: 'strin' }, '/type unknown type "strin", did you mean "string"?'],
  [
    { type: ['string', 'int\n'] },
    '/type/1 unknown type "int\\n", choose from array, boolean, integer, null, number, object, string',
  ],
  [
    { type: ['string', null] },
    '/type/1 a type is one of array, boolean, integer, "null" (in quotes), number, object, string',
  ],
  [{ type: 'string', nullable: 'yes' }, '/nullable "nullable" must be true or false'],
  [{ maxLength: '3' }, '/maxLength "maxLength" must be an integer'],
  [{ minLength: -1 }, '/minLength "minLength" must not be less than 0'],
  [{ required: true }, '/required "required" must be an array'],
  [{ dependencies: { a: ['b', 1] } }, '/dependencies/a/1 "1" must be a string'],
  [{ enum: 'a' }, '/enum "enum" must be an array'],
  [{ items: [{}] }, '/items "items" must be an object or true or false'],
  [{ properties: { '': 1 } }, '/properties/ a schema must be an object or true or false'],
  [of({ pattern: '(' }), '/properties/a/pattern "(" is not a regular expression: unterminated group'],
  // As a block of YAML gives it.
  [
    of({ pattern: '(\\d\n' }),
    String.raw`/properties/a/pattern "(\\d\n" is not a regular expression: unterminated group`,
  ],
  [
    { patternProperties: { '[': {} } },
    '/patternProperties/[ "[" is not a regular expression: unterminated character class',
  ],
  [{ format: 'emial' }, '/format unknown format "emial", did you mean "email"?'],
  [{ $ref: '#/$defs/b' }, '/$ref "#/$defs/b" is nowhere in this schema, and a reference cannot leave it'],
  ...['#/valueOf', '#/title/length'].map(($ref): (typeof badSchemas)[number] => [
    { title: 'a', $ref },
    `/$ref "${$ref}" is nowhere in this schema, and a reference cannot leave it`,
  ]),
  [{ $dynamicRef: '#b' }, '/$dynamicRef "#b" is nowhere in this schema, and a reference cannot leave it'],
  [
    { ...of({ $dynamicRef: '#b' }), $defs: { b: { $id: 'b', $dynamicAnchor: 'b' } } },
    '/properties/a/$dynamicRef "$dynamicRef" is not understood in a schema with an "$id" inside: write a "$ref"',
  ],
  [
    { ...of({ unevaluatedProperties: false }), $defs: { b: { $id: 'b' } } },
    '/properties/a/unevaluatedProperties "unevaluatedProperties" is not understood in a schema with an "$id" inside: leave the "$id" out',
  ],
  [
    { $ref: 'http://127.0.0.1/x' },
    '/$ref "http://127.0.0.1/x" is nowhere in this schema, and a reference cannot leave it',
  ],
  [{ $ref: '#' }, ' the schema refers to itself without end'],
  [{ $ref: '#/const', const: { $ref: '#/const' } }, ' the schema refers to itself without end'],
  ...['$ref', 'not', 'if', 'then', 'else', 'allOf', 'anyOf', 'oneOf', 'dependentSchemas'].map(
    (keyword): (typeof badSchemas)[number] => [
      { ...of(of({ $ref: '#/$defs/b' })), $defs: { b: circleOf(keyword) } },
      '/$defs/b the schema refers to itself without end',
    ],
  ),
  [
    { $schema: 'http://json-schema.org/draft-07/schema#' },
    '/$schema only JSON Schema 2020-12 is understood: "https://json-schema.org/draft/2020-12/schema"',
  ],
  ...['then', 'else'].map((keyword): (typeof badSchemas)[number] => [
    { [keyword]: {} },
    `/${keyword} "${keyword}" means nothing without "if" beside it`,
  ]),
  [{ if: {} }, '/if "if" means nothing without "then" or "else" beside it'],
  [{ minContains: 1 }, '/minContains "minContains" means nothing without "contains" beside it'],
  [{ maxContains: 1 }, '/maxContains "maxContains" means nothing without "contains" beside it'],
  [{ nullable: true }, '/nullable "nullable" means nothing without "type" beside it'],
  [{ minLength: 3, maxLength: 2 }, '/minLength "minLength" is more than "maxLength"'],
  [{ minimum: 0.5, maximum: 0 }, '/minimum "minimum" is more than "maximum"'],
  ...[
    ['minimum', 'exclusiveMaximum'],
    ['exclusiveMinimum', 'maximum'],
    ['exclusiveMinimum', 'exclusiveMaximum'],
    ['minItems', 'maxItems'],
    ['minContains', 'maxContains'],
    ['minProperties', 'maxProperties'],
  ].map(([least = '', most = '']): (typeof badSchemas)[number] => [
    { contains: true, [least]: 2, [most]: 1 },
    `/${least} "${least}" is more than "${most}"`,
  ]),
  [
    { required: ['a', 'fistName'], properties: { a: {}, firstName: {} }, additionalProperties: false },
    '/required/1 "additionalProperties" refuses "fistName", so every object is refused, did you mean "firstName"?',
  ],
  [
    { type: 'string', enum: ['a', null, 2026] },
    '/enum/2 this is not text, so "type" refuses it: put it in quotes',
  ],
  [
    { type: ['string', 'null'], const: 2026 },
    '/const this is not text, so "type" refuses it: put it in quotes',
  ],
  [{ enum: [] }, '/enum "enum" is empty, so nothing would fit'],
  [{ format: 'date', formatMaximum: '2030-01-01' }, '/formatMaximum unknown keyword "formatMaximum"'],
];

describe('a body that does not fit its schema gets a sentence with the field and the rule', () => {
  for (const [schema, body, sentence] of refused) {
    const title = `${JSON.stringify(body).slice(0, 80)}: ${sentence}`;
    it(title, () => assert.equal(compileBodySchema(schema)(body), sentence));
  }
});

describe('a text or number of a format', () => {
  for (const [format, [fit, not]] of Object.entries(formats)) {
    const check = compileBodySchema(of({ format }));
    const sentence = `a must be ${format === 'byte' ? 'valid base64' : `a valid ${format}`}`;
    const show = (value: unknown): string => `${format} ${JSON.stringify(value).slice(0, 60)}`;
    for (const a of fit) it(`is ${show(a)}`, () => assert.equal(check({ a }), undefined));
    for (const a of not) it(`is not ${show(a)}`, () => assert.equal(check({ a }), sentence));
  }
});

describe('a body that fits its schema passes', () => {
  for (const [title, schema, body] of accepted) {
    it(title, () => assert.equal(compileBodySchema(schema)(body), undefined));
  }
});

describe('a schema that is wrong is refused with the place and the cure', () => {
  for (const [schema, fault] of badSchemas) {
    it(`${JSON.stringify(schema)}: ${fault}`, () => assert.deepEqual(problemsOf(schema), [fault]));
  }
});

function problemsOf(schema: unknown): readonly string[] {
  try {
    compileBodySchema(schema);
    return [];
  } catch (error) {
    assert.ok(error instanceof SchemaProblems, String(error));
    return error.problems.map(({ pointer, message }) => `${pointer} ${message}`);
  }
}

describe('a schema whose references lead one to the next', () => {
  it('only through the body is taken', () => {
    const next = { $ref: '#' };
    const below = { properties: { a: next }, items: next, additionalProperties: next, contains: next };
    assert.deepEqual(problemsOf({ anyOf: [{ type: 'null' }, below] }), []);
  });

  const isTooLarge =
    ' has too many properties in one place, or references that lead to each other too many times';

  it('too many times is refused', () => {
    const parts = Array.from({ length: 7000 }, (_, at) => [`a${at}`, { $ref: `#/$defs/a${at + 1}` }]);
    const $defs = { ...Object.fromEntries(parts), a7000: {} };
    assert.deepEqual(problemsOf({ $ref: '#/$defs/a0', $defs }), [isTooLarge]);
  });

  it('is not blamed alone where a schema without any is too large', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4000 }, (_, at) => [`a${at}`, { type: 'string' }]),
    );
    assert.deepEqual(problemsOf({ properties }), [isTooLarge]);
  });
});

describe('references of a schema', () => {
  const nowhere = 'is nowhere in this schema, and a reference cannot leave it';

  it('that lead nowhere are told together, and beside other mistakes', () => {
    const properties = {
      a: { $ref: '#/$defs/a~0b' },
      b: { $ref: '#anchor' },
      c: { $ref: 'http://a.test/c' },
      d: { $ref: '#/%zz' },
      e: { $ref: '#/$defs/e' },
    };
    assert.deepEqual(problemsOf({ properties, $defs: { 'a~b': {}, e: { typ: 'string' } } }), [
      '/$defs/e/typ unknown keyword "typ", did you mean "type"?',
      `/properties/b/$ref "#anchor" ${nowhere}`,
      `/properties/c/$ref "http://a.test/c" ${nowhere}`,
      `/properties/d/$ref "#/%zz" ${nowhere}`,
    ]);
  });

  it('are found by every way that there is to a part', () => {
    const $defs = { 'a/b': {}, 'c~d': {}, 'e f': {}, 'g%h': {}, é: {}, i: { $anchor: 'i' }, j: true };
    const ways = ['#', '#/', '#whole', '#/$defs/a~1b', '#/$defs/c~0d', '#/%24defs/e%20f', '#/$defs/e f'];
    const more = [
      '#/$defs/g%25h',
      '#/$defs/é',
      '#i',
      '#/$defs/j',
      '#/prefixItems/0',
      'http://a.test/a#i',
      'a',
    ];
    const prefixItems = [...ways, ...more].map(($ref) => ({ $ref }));
    assert.deepEqual(problemsOf({ $id: 'http://a.test/a', $anchor: 'whole', prefixItems, $defs }), []);
  });

  it('are found from the piece in which they stand', () => {
    const c = { $id: 'c', $defs: { d: { $anchor: 'd' } }, items: { $ref: '#/$defs/d' } };
    const b = { $id: 'b', prefixItems: [{ $ref: 'c#d' }, { $ref: '#d' }, { $ref: 'a#/$defs/c/$defs/d' }] };
    assert.deepEqual(problemsOf({ $id: 'http://a.test/a', $ref: 'b', $defs: { b, c } }), [
      `/$defs/b/prefixItems/1/$ref "#d" ${nowhere}`,
    ]);
  });
});

describe('compileBodySchema', () => {
  it('leaves the body as it was: no coercion and no defaults', () => {
    const check = compileBodySchema({ properties: { a: { type: 'integer' }, b: { default: 1 } } });
    const body = { a: '1' };
    assert.equal(check(body), 'a must be an integer');
    assert.deepEqual(body, { a: '1' });
  });

  it('keeps no body that it has checked', async () => {
    const check = compileBodySchema({ type: 'object' });
    const checkOne = () => {
      const body = {};
      check(body);
      return new WeakRef(body);
    };
    const checked = checkOne();
    await until(() => {
      collectGarbage();
      return checked.deref() === undefined;
    });
  });

  it('lets two routes use the same $id', () => {
    const [first, second] = ['string', 'number'].map((type) =>
      compileBodySchema({ $id: 'http://a.test/a', $ref: 'b', $defs: { b: { $id: 'b', type } } }),
    );
    assert.ok(first && second);
    assert.equal(first('x'), undefined);
    assert.equal(second('x'), 'the body must be a number');
  });

  it('never repeats a value or a name that only the client wrote', () => {
    const schemas = [person, names, shapes, card, of({ propertyNames: { maxLength: 1 } }), { type: 'null' }];
    const checks = schemas.map((schema) => compileBodySchema(schema));
    const word = fc.stringMatching(/^secret[0-9]{3}$/);
    const key = fc.oneof(word, fc.constantFrom('a', 'names', 'first', 'kind', 'card', 'cvc', 'firstName'));
    const { body } = fc.letrec((tie) => ({
      body: fc.oneof(
        { maxDepth: 3 },
        word,
        fc.constant(4242424242),
        fc.array(tie('body')),
        fc.dictionary(key, tie('body')),
      ),
    }));
    fc.assert(
      fc.property(body, (value) => {
        for (const check of checks) assert.doesNotMatch(check(value) ?? '', /secret|4242/);
      }),
    );
  });

  it('divides decimals as people wrote them', () => {
    const digits = fc.integer({ min: 1, max: 400 });
    fc.assert(
      fc.property(fc.nat(4000), digits, fc.nat(3), (value, step, places) => {
        const check = compileBodySchema({ multipleOf: Number(`${step}e-${places}`) });
        const isMultiple = check(Number(`${value}e-${places}`)) === undefined;
        assert.equal(isMultiple, value % step === 0, `${value} and ${step} over 10^${places}`);
      }),
      { numRuns: 100 },
    );
  });

  it('checks a megabyte of items for repetition in time with its size', () => {
    const check = compileBodySchema({ uniqueItems: true });
    const items = Array.from({ length: 100_000 }, (_, at) => ({ at }));
    doesNotHang(() => assert.equal(check(items), undefined));
  });

  it('checks lists in lists for repetition without going through the inner ones for each that holds them', () => {
    const list = { uniqueItems: true, items: { $ref: '#/$defs/list' } };
    const check = compileBodySchema({ $defs: { list }, $ref: '#/$defs/list' });
    let looks = 0;
    const items = Array.from({ length: 1000 }, (_, at) => ({
      get at(): number {
        looks += 1;
        return at;
      },
    }));
    assert.equal(check(inLists(20, items)), undefined);
    assert.ok(looks < 5000, `${looks} looks`);
    const twin = Array.from({ length: 1000 }, (_, at) => ({ at }));
    assert.equal(check([inLists(9, items), inLists(9, twin)]), 'the body must not hold the same item twice');
    assert.equal(check([inLists(9, items), inLists(9, twin.with(7, { at: 0.7 }))]), undefined);
  });

  it('survives an alternative that fails on every one of very many items', () => {
    const check = compileBodySchema({ anyOf: [{ contains: { type: 'string' } }, { type: 'string' }] });
    const sentence = check(Array.from({ length: 300_000 }, () => 1));
    assert.equal(sentence, 'the body must hold at least 1 matching item');
  });

  it('looks a value up in a long list instead of holding it against each entry', () => {
    doesNotHang(() => {
      const texts = Array.from({ length: 60_000 }, (_, at) => `text ${at}`);
      const check = compileBodySchema({ items: { enum: [...texts, 0, 1, null] } });
      assert.equal(check(Array.from({ length: 400_000 }, () => 'text 59999')), undefined);
      assert.equal(check([...texts, -0, null]), undefined);
      for (const other of ['text', '0', false, [], {}])
        assert.equal(check(['text 1', other]), '[1] must be one of the allowed values');
      const objects = Array.from({ length: 5_000 }, (_, at) => ({ kind: 'leaf', at }));
      const checkObjects = compileBodySchema({ items: { enum: objects } });
      assert.equal(
        checkObjects(Array.from({ length: 30_000 }, () => ({ at: 4_999, kind: 'leaf' }))),
        undefined,
      );
      assert.equal(checkObjects([{ at: 5_000, kind: 'leaf' }]), '[0] must be one of the allowed values');
    });
  });

  it('counts the fields of a body once, however many constants it is held against', () => {
    const check = compileBodySchema({ anyOf: Array.from({ length: 100 }, () => ({ const: {} })) });
    let looks = 0;
    const body = new Proxy(
      { a: 1 },
      {
        ownKeys: (target) => {
          looks += 1;
          return Reflect.ownKeys(target);
        },
      },
    );
    assert.equal(check(body), 'the body must have the one allowed value');
    assert.equal(looks, 1);
  });

  it('checks formats in bounded time however long the text is', () => {
    doesNotHang(() => {
      for (const format of ['uri', 'uri-reference', 'url', 'email', 'ipv6', 'iso-date-time', 'duration']) {
        const check = compileBodySchema({ format });
        for (const seed of ['a', 'a-', 'a.', ':', 'http://a:', 'a@', '/', ' '])
          assert.notEqual(check(seed.repeat(200_000)), undefined, `${format} ${seed}`);
      }
    });
  });
});

describe('an array is judged by itself', () => {
  const tag = { contains: { const: 'id' } };
  const lists: [place: string, schema: object, wrap: (...lists: unknown[][]) => unknown][] = [
    ['in a list', { items: tag }, (...all) => all],
    ['in a map', { additionalProperties: tag }, (...all) => Object.fromEntries(all.entries())],
    [
      'in a map by pattern',
      { patternProperties: { '^[0-9]': tag } },
      (...all) => Object.fromEntries(all.entries()),
    ],
    ['behind a tuple', { prefixItems: [true], items: tag }, (...all) => [0, ...all]],
  ];
  for (const [place, schema, wrap] of lists) {
    it(`where one that contains what it must comes before: ${place}`, () => {
      const check = compileBodySchema(schema);
      assert.equal(check(wrap(['id'], ['x', 'id'])), undefined);
      for (const body of [wrap([]), wrap(['id'], []), wrap(['id'], ['x'])]) {
        assert.match(check(body) ?? '', /must hold at least 1 matching item$/);
      }
    });
  }

  it('where it is shorter than its tuple', () => {
    const beside: [schema: object, fits: unknown[], not: unknown[]][] = [
      [{ prefixItems: [{ type: 'string' }], contains: { type: 'number' } }, ['a', 1], []],
      [{ prefixItems: [{ type: 'string' }], ...tag, minContains: 2 }, ['id', 'id'], ['id']],
      [{ prefixItems: [{}, {}, { type: 'number' }], uniqueItems: true }, [1, 2], [1, 1]],
      [{ prefixItems: [{}, { type: 'number' }, { type: 'null' }], uniqueItems: true }, [1, 2], [1, 1]],
    ];
    for (const [schema, fits, not] of beside) {
      assert.equal(compileBodySchema(schema)(fits), undefined);
      assert.match(compileBodySchema(schema)(not) ?? '', /^the body must (not )?hold /);
      const rows = compileBodySchema({ items: schema });
      assert.equal(rows([fits, fits]), undefined);
      assert.match(rows([fits, not]) ?? '', /^\[1\] must (not )?hold /);
    }
  });

  it('however many matching items it may hold', () => {
    const sizes: [limits: object, fits: unknown[][], not: unknown[][]][] = [
      [{ minContains: 0, maxContains: 1 }, [[], ['x'], ['id']], [['id', 'id']]],
      [{ minContains: 1 }, [['id'], ['id', 'id']], [[], ['x']]],
      [{ minContains: 2 }, [['id', 'id']], [[], ['id']]],
      [{ maxContains: 1 }, [['id']], [[], ['x'], ['id', 'id']]],
    ];
    for (const [limits, fits, not] of sizes) {
      const check = compileBodySchema({ items: { ...tag, ...limits } });
      for (const list of fits) assert.equal(check([...fits, list]), undefined);
      for (const list of not)
        assert.notEqual(check([...fits, list]), undefined, JSON.stringify([limits, list]));
    }
  });
});

describe('alternatives that all fail', () => {
  const many = Array.from({ length: 150 }, (_, i) => ({ const: i }));
  const textOrNull = [{ type: 'string' }, { type: 'null' }];
  const places: [place: string, schema: (first: object, second: object) => object, body: unknown][] = [
    ['another field', (a, b) => ({ anyOf: [of(a), { properties: { b } }] }), { a: -1, b: -1 }],
    ['the same value', (a, b) => ({ oneOf: [a, b] }), -1],
    ['an item', (a, b) => ({ anyOf: [{ items: a }, { contains: b }] }), [-1]],
    ['a part', (a, b) => ({ anyOf: [a, { allOf: [b] }] }), -1],
  ];
  for (const [place, schema, body] of places) {
    it(`never make another valid: ${place}`, () => {
      for (const count of [100, 101]) {
        for (const [first, second] of [
          [{ oneOf: many.slice(0, count) }, { anyOf: textOrNull }],
          [{ anyOf: many.slice(0, count) }, { oneOf: textOrNull }],
        ] as const) {
          assert.notEqual(compileBodySchema(schema(first, second))(body), undefined, `${count}`);
        }
      }
    });
  }

  it('never make another invalid', () => {
    const check = compileBodySchema({ anyOf: [{ anyOf: many }, { not: { anyOf: textOrNull } }] });
    assert.equal(check(-1), undefined);
  });

  it('are judged as without a bound, however deep a body takes a schema into itself', () => {
    const schema = {
      $ref: '#/$defs/term',
      $defs: {
        term: {
          type: 'object',
          anyOf: [
            { required: ['not'], properties: { not: { $ref: '#/$defs/term' } } },
            { required: ['is'], properties: { is: { oneOf: textOrNull } } },
            { required: ['or'], properties: { or: { type: 'array', items: { $ref: '#/$defs/term' } } } },
          ],
        },
      },
    };
    const check = compileBodySchema(schema);
    const plain = new Ajv2020().compile(schema);
    const { term } = fc.letrec((tie) => ({
      term: fc.record(
        {
          not: fc.oneof({ depthSize: 'max' }, fc.constant({ exists: 1 }), tie('term')),
          is: fc.constantFrom('text', 1, {}),
          or: fc.oneof({ depthSize: 'small' }, fc.constant(0), fc.array(tie('term'), { maxLength: 2 })),
        },
        { requiredKeys: [] },
      ),
    }));
    fc.assert(fc.property(term, (body) => assert.equal(check(body) === undefined, plain(body))));
    for (let depth = 0; depth < 120; depth += 1) {
      const deep = Array.from({ length: depth }).reduce<object>((not) => ({ not }), { exists: 1 });
      const body = { ...deep, is: { a: 1 } };
      assert.equal(check(body) === undefined, plain(body), `${depth}`);
    }
  });
});

describe('a reference', () => {
  it('leads to the anchor of the whole schema, and in a piece with a name of its own to the one there', () => {
    const list = compileBodySchema({
      $anchor: 'node',
      type: 'object',
      properties: { next: { $ref: '#node' } },
    });
    assert.equal(list({ next: { next: {} } }), undefined);
    assert.equal(list({ next: { next: 1 } }), 'next.next must be an object');
    const piece = {
      $id: 'piece',
      $defs: { text: { $anchor: 'node', type: 'string' } },
      properties: { b: { $ref: '#node' } },
    };
    const pieces = compileBodySchema({
      $anchor: 'node',
      $defs: { piece },
      properties: { a: { $ref: 'piece' } },
    });
    assert.equal(pieces({ a: { b: 'text' } }), undefined);
    assert.equal(pieces({ a: { b: {} } }), 'a.b must be a string');
  });
});

describe('a dynamic reference', () => {
  it('leads to its anchor', () => {
    const text = { type: 'string' };
    for (const [reference, $defs] of [
      ['#a', { a: { $dynamicAnchor: 'a', ...text } }],
      ['#a', { a: { $anchor: 'a', ...text } }],
      ['#/$defs/a', { a: text }],
    ] as const) {
      const check = compileBodySchema({ ...of({ $dynamicRef: reference }), $defs });
      assert.equal(check({ a: 'text' }), undefined);
      assert.equal(check({ a: {} }), 'a must be a string');
    }
  });

  it('leads to the whole schema', () => {
    const items = { $dynamicRef: '#node' };
    const schema = { type: 'object', properties: { children: { type: 'array', items } } };
    for (const anchor of ['$dynamicAnchor', '$anchor']) {
      const check = compileBodySchema({ [anchor]: 'node', ...schema });
      assert.equal(check({ children: [{ children: [] }] }), undefined);
      assert.equal(check({ children: [{ children: [1] }] }), 'children[0].children[0] must be an object');
    }
  });
});

describe('a schema that refers to itself in two alternatives', () => {
  const filter = {
    type: 'object',
    required: ['kind'],
    anyOf: [
      { properties: { child: { $ref: '#/$defs/filter' }, kind: { const: 'all' } } },
      { properties: { child: { $ref: '#/$defs/filter' }, kind: { const: 'any' } } },
      { properties: { kind: { const: 'leaf' } } },
    ],
  };
  const check = compileBodySchema({ $defs: { filter }, $ref: '#/$defs/filter' });

  it('is followed as far as a body of use goes, and says what is wrong', () => {
    assert.equal(check(nest(8, 'leaf')), undefined);
    assert.match(check(nest(8, 'nope')) ?? '', /kind must have the one allowed value$/);
  });

  it('takes bounded time and memory, and the next body is none the worse', () => {
    for (const kind of ['leaf', 'nope']) {
      doesNotHang(() => assert.equal(check(nest(30, kind)), 'the body takes too many steps to check'));
    }
    assert.equal(check(nest(8, 'leaf')), undefined);
  });

  it('takes bounded time where a large value is at the end of each', () => {
    const alternatives = ['all', 'any'].map((kind) => ({
      required: ['child'],
      properties: { child: { $ref: '#' }, kind: { const: kind } },
    }));
    const list = { type: 'array', items: { type: 'string', maxLength: 9 } };
    const large = compileBodySchema({ anyOf: [{ type: 'string', maxLength: 9 }, list, ...alternatives] });
    const words = Array.from({ length: 12_000 }, () => 'ab');
    for (const end of ['a'.repeat(60_000), [...words, 'too long for it']]) {
      const bodyOf = (depth: number): unknown =>
        Array.from({ length: depth }).reduce((child) => ({ kind: 'none', child }), end);
      assert.notEqual(large(bodyOf(2)), undefined);
      doesNotHang(() => assert.equal(large(bodyOf(13)), 'the body takes too many steps to check'));
    }
    assert.equal(large({ kind: 'any', child: { kind: 'all', child: words } }), undefined);
  });

  it('takes no body that goes deeper than there is stack for, and the next one is none the worse', () => {
    const field = { anyOf: [{ type: 'string' }, { $ref: '#' }] };
    const fields = Array.from({ length: 200 }, (_, i) => [i === 7 ? 'child' : `field${i}`, field]);
    const wide = compileBodySchema({ type: 'object', properties: Object.fromEntries(fields) });
    assert.equal(wide(nest(5, 'text')), undefined);
    assert.equal(wide(nest(5_000, 'text')), 'the body takes too many steps to check');
    assert.equal(wide(nest(5, 'text')), undefined);
  });

  it('compares each value once with the objects that are listed, however often it comes to it', () => {
    const listed = Array.from({ length: 100 }, (_, n) => ({ kind: 'leaf', n }));
    const child = { anyOf: ['all', 'any'].map((key) => ({ $ref: '#', required: [key] })) };
    const unlisted = compileBodySchema({ not: { enum: listed }, properties: { child } });
    let looks = 0;
    const leaf = {
      get kind(): string {
        looks += 1;
        return 'leaf';
      },
    };
    assert.notEqual(
      unlisted(Array.from({ length: 8 }).reduce<object>((inner) => ({ child: inner }), leaf)),
      undefined,
    );
    assert.ok(looks < 10 * 2 ** 8, `${looks} looks`);
  });

  it('may take more steps where a body may be deeper', () => {
    const generous = compileBodySchema({ $defs: { filter }, $ref: '#/$defs/filter' }, 1_000_000);
    assert.equal(check(nest(17, 'leaf')), 'the body takes too many steps to check');
    assert.equal(generous(nest(17, 'leaf')), undefined);
  });
});

function inLists(depth: number, inner: unknown): unknown {
  return Array.from({ length: depth }).reduce((each) => [each, null], inner);
}

function nest(depth: number, kind: string): object {
  return Array.from({ length: depth }).reduce<object>((child) => ({ kind: 'any', child }), { kind });
}
