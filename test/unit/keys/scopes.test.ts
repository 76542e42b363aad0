import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compareSegments, segmentsOf } from '../../../src/config/route-path.ts';
import { covers, isOfUse } from '../../../src/keys/scopes.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';

const route = { name: 'names' };

for (const { scopes, path, covered } of [
  { scopes: [], path: '/x', covered: true },
  { scopes: ['names'], path: '/x', covered: true },
  { scopes: ['name'], path: '/x', covered: false },
  { scopes: ['name'], path: '/name', covered: false },
  { scopes: ['name'], path: '/ame', covered: false },
  { scopes: ['/v1/*'], path: '/v1/a/b', covered: true },
  { scopes: ['/v1/*'], path: '/v1', covered: false },
  { scopes: ['/v1/*'], path: '/v2/a', covered: false },
  { scopes: ['/v1/*'], path: '/v1/', covered: false },
  { scopes: ['/v1/*'], path: '/v1/a/', covered: true },
  { scopes: ['/v1/a'], path: '/v1/a', covered: true },
  { scopes: ['/'], path: '/', covered: true },
  { scopes: ['/v1/a'], path: '/v1/A', covered: false },
  { scopes: ['/v1/a'], path: '/v1/%61', covered: false },
  { scopes: ['/v1/a'], path: '/v1/a/', covered: false },
  { scopes: ['/v1/:id/x'], path: '/v1/7/x', covered: true },
  { scopes: ['/v1/:id/x'], path: '/v1//x', covered: false },
  { scopes: ['other', '/v1/a'], path: '/v1/a', covered: true },
]) {
  test(`[${scopes.join(', ')}] ${covered ? 'covers' : 'does not cover'} ${path}`, () => {
    assert.equal(covers(scopes, route, path), covered);
  });
}

test('a scope is a pattern of paths also where a route without a name has the same', () => {
  const unnamed = { name: '/v1/files/*' };
  assert.ok(covers(['/v1/files/*'], unnamed, '/v1/files/a'));
  assert.ok(!covers(['/v1/files/*'], unnamed, '/v1/files/'));
});

test('a scope that no route can fit is of no use', () => {
  const routes = [
    { name: 'names', path: '/v1/name' },
    { name: 'r', path: '/v1/voice/*' },
  ];
  for (const scope of ['names', '/v1/name', '/v1/*', '/v1/voice/a/b', '/:v/name'])
    assert.ok(isOfUse(scope, routes), scope);
  for (const scope of ['name', 'xv1/name', '/v2/*', '/v1/voice', '/v1/names'])
    assert.ok(!isOfUse(scope, routes), scope);
});

const part = fc.constantFrom('a', 'b', 'c', ':x');
const anyPath = fc
  .tuple(fc.array(part, { maxLength: 4 }), fc.boolean())
  .map(([parts, rest]) => `/${[...parts, ...(rest ? ['*'] : [])].join('/')}`);

test('a pattern is of use where it is not apart from the path of some route', () => {
  fc.assert(
    fc.property(anyPath, fc.array(anyPath, { maxLength: 6 }), (scope, paths) => {
      const routes = paths.map((path, at) => ({ name: `r${at}`, path }));
      const isApart = (path: string) => compareSegments(segmentsOf(scope), segmentsOf(path)) === 'apart';
      assert.equal(isOfUse(scope, routes), !paths.every(isApart));
    }),
  );
});

test('routes are read once, however many scopes are asked about', () => {
  const reads = { name: 0, path: 0 };
  const watched = {
    get name() {
      reads.name += 1;
      return 'names';
    },
    get path() {
      reads.path += 1;
      return '/v1/name';
    },
  };
  const routes = [watched];
  for (const scope of ['/v1/*', '/v2/*', '/v1/name', 'names']) isOfUse(scope, routes);
  assert.deepEqual(reads, { name: 1, path: 1 });
});

test('a scope is compared with the routes that begin as it does, and not with each', () => {
  const routes = Array.from({ length: 30_000 }, (_, at) => ({ name: `r${at}`, path: `/v1/tenants/${at}` }));
  doesNotHang(() => {
    for (let at = 0; at < 200_000; at += 1) assert.ok(!isOfUse(`/v1/tenants/x${at}`, routes));
  });
});
