import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { rivalsOf } from '../../../src/config/rivals.ts';
import { compareSegments, segmentsOf } from '../../../src/config/route-path.ts';
import type { RawRoute } from '../../../src/config/schema.ts';
import { answeredMethods } from '../../../src/config/schema/routes.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';

function routesOf(texts: string, lengths: fc.ArrayConstraints, count: number) {
  const part = fc.oneof(fc.constantFrom(...texts.split('')), fc.constantFrom(':x', ':y'));
  const path = fc
    .tuple(fc.array(part, lengths), fc.boolean())
    .map(([parts, rest]) => `/${[...parts, ...(rest ? ['*'] : [])].join('/')}`);
  const route = fc.record({ path, methods: fc.subarray(['GET', 'HEAD', 'POST']) });
  return fc.array(route, { minLength: count / 2, maxLength: count });
}

for (const [name, routes] of Object.entries({
  'of many shapes': routesOf('abc', { maxLength: 4 }, 40),
  'of one text': routesOf('a', { maxLength: 6 }, 60),
  'of few shapes': routesOf('abcdefghijklmnopqrst', { minLength: 2, maxLength: 2 }, 150),
})) {
  test(`among routes ${name} the rival of one is the first before it that competes with it`, () => {
    fc.assert(
      fc.property(routes, (written) => {
        const raw = written as unknown as readonly RawRoute[];
        const found = [...rivalsOf(raw)].map(([one, rival]) => [one.at, rival.at]);
        assert.deepEqual(
          found.toSorted(([one = 0], [other = 0]) => one - other),
          raw.flatMap((one, at) => {
            const rival = raw.slice(0, at).findIndex((other) => compete(one, other));
            return rival === -1 ? [] : [[at, rival]];
          }),
        );
      }),
    );
  });
}

test('long routes of many lengths and shapes, as alike as they can be, are told apart', () => {
  const routes = Array.from({ length: 8000 }, (_, at) => {
    const parts: string[] = Array.from({ length: 20 + (at % 400) }, () => 'a');
    parts[Math.floor(at / 400)] = ':x';
    return { path: `/${parts.join('/')}/${at}`, methods: ['GET'] } as unknown as RawRoute;
  });
  doesNotHang(() => assert.equal(rivalsOf(routes).size, 0));
});

function compete(one: RawRoute, other: RawRoute): boolean {
  const relation = compareSegments(segmentsOf(one.path), segmentsOf(other.path));
  if (relation !== 'same') return relation === 'ambiguous';
  return !answeredMethods(one.methods).isDisjointFrom(answeredMethods(other.methods));
}
