import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileCheckedBodies } from '../../../../src/config/body-schema/compile-bodies.ts';
import type { RawRoute } from '../../../../src/config/schema.ts';

test('a form that may hold few values may have many references for each of them', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const schema = {
    $defs: {
      filled: { minLength: 1 },
      short: { maxLength: 9 },
      text: { allOf: [{ $ref: '#/$defs/filled' }, { $ref: '#/$defs/short' }] },
    },
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/text' }])),
  };
  const route = {
    path: '/form',
    body: { json: { maxSize: '1KB', maxDepth: 1, maxValues: names.length + 1, schema } },
  } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  assert.equal(check?.(Object.fromEntries(names.map((name) => [name, 'x']))), undefined);
});

test('a body may be as large and as deep as its route allows', () => {
  const schema = {
    $defs: { text: { type: 'string' } },
    type: 'object',
    properties: { text: { $ref: '#/$defs/text' }, next: { $ref: '#' } },
  };
  const json = { maxSize: '1MB', maxDepth: 900, maxValues: 1800, schema };
  const route = { path: '/list', body: { json } } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  const text = 'x'.repeat(1000);
  const body = Array.from({ length: 899 }).reduce<object>((next) => ({ text, next }), { text });
  assert.equal(check?.(body), undefined);
});

test('a form may hold as much as its fields allow', () => {
  const schema = {
    $defs: { text: { type: 'string' }, texts: { allOf: [{ items: { $ref: '#/$defs/text' } }] } },
    type: 'object',
    properties: { texts: { type: 'array', $ref: '#/$defs/texts' } },
  };
  const upload = { maxSize: '300MB', fields: { maxCount: 1000, maxSize: '256KB', schema } };
  const route = { path: '/form', body: { upload } } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  const texts = Array.from({ length: 1000 }, () => 'x'.repeat(256 * 1024));
  assert.equal(check?.({ texts }), undefined);
});
