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
    body: { json: { maxValues: names.length + 1, schema } },
  } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  assert.equal(check?.(Object.fromEntries(names.map((name) => [name, 'x']))), undefined);
});
