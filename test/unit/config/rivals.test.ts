import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { rivalsOf } from '../../../src/config/rivals.ts';
import { compareSegments, segmentsOf } from '../../../src/config/route-path.ts';
import type { RawRoute } from '../../../src/config/schema.ts';
import { answeredMethods } from '../../../src/config/schema/routes.ts';

const parts = fc.array(fc.constantFrom('a', 'b', 'c', ':x', ':y'), { maxLength: 4 });
const route = fc.record({
  path: fc
    .tuple(parts, fc.boolean())
    .map(([some, rest]) => `/${[...some, ...(rest ? ['*'] : [])].join('/')}`),
  methods: fc.subarray(['GET', 'HEAD', 'POST']),
});

test('the rival of a route is the one that comparing it with each before it finds first', () => {
  fc.assert(
    fc.property(fc.array(route, { maxLength: 40 }), (written) => {
      const routes = written as unknown as readonly RawRoute[];
      const found = [...rivalsOf(routes)].map(([one, rival]) => [one.at, rival.at]);
      assert.deepEqual(
        found.toSorted(([one = 0], [other = 0]) => one - other),
        routes.flatMap((one, at) => {
          const rival = routes.slice(0, at).findIndex((other) => compete(one, other));
          return rival === -1 ? [] : [[at, rival]];
        }),
      );
    }),
  );
});

function compete(one: RawRoute, other: RawRoute): boolean {
  const relation = compareSegments(segmentsOf(one.path), segmentsOf(other.path));
  if (relation !== 'same') return relation === 'ambiguous';
  return !answeredMethods(one.methods).isDisjointFrom(answeredMethods(other.methods));
}
