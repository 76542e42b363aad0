import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers, isOfUse } from '../../../src/keys/scopes.ts';

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

test('the paths of routes are taken apart once, however many scopes are asked about', () => {
  let reads = 0;
  const watched = {
    name: 'names',
    get path() {
      reads += 1;
      return '/v1/name';
    },
  };
  const routes = [watched];
  for (const scope of ['/v1/*', '/v2/*', '/v1/name']) isOfUse(scope, routes);
  assert.equal(reads, 1);
});
