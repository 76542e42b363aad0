import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Route, Version } from '../../../src/config/config.ts';
import { byExactness, compareSegments, segmentsOf } from '../../../src/config/route-path.ts';
import { Refusal } from '../../../src/refusals.ts';
import { createRouteTable, findRoute } from '../../../src/stages/find-route.ts';
import { refusalOf } from '../../helpers/refusal-of.ts';

const sunsetAt = Date.UTC(2027, 0, 1);
const gone: Version = {
  name: 'v0',
  upstream: 'u',
  deprecatedAt: undefined,
  sunsetAt,
  link: undefined,
  afterSunset: 'gone',
};

function route(path: string, methods: readonly string[] = ['GET', 'HEAD'], version?: Version): Route {
  return {
    name: path,
    path,
    methods,
    upstream: 'u',
    rebase: undefined,
    version,
    cost: 1,
    costHeader: undefined,
    body: { kind: 'none' },
    upgrade: undefined,
  };
}

const table = createRouteTable([
  route('/v1/files/*'),
  route('/v1/files/secret', ['POST']),
  route('/v1/files/:id/meta'),
  route('/v1/files/:id', ['DELETE']),
  route('/v1/users/:id'),
  route('/v1/users/me', ['PUT']),
  route('/v1/users/:id/posts/*'),
  route('/v1/caf%C3%A9'),
  route('/v1/any/*', ['OPTIONS']),
  route('/v1/any/*', ['GET', 'HEAD']),
  route('/v1/items', ['POST']),
  route('/v1/items/*', ['GET', 'POST']),
  route('/v1/kinds/:kind/export'),
  route('/v1/kinds/:kind/export/*'),
  route('/v0/old', ['GET', 'HEAD'], gone),
]);

/** The route found, or the code it is refused with. */
const cases: [path: string, method: string, found: string][] = [
  ['/v1/files/secret', 'POST', '/v1/files/secret'],
  ['/v1/files/secret', 'GET', 'method_not_allowed'],
  ['/v1/files/a', 'DELETE', '/v1/files/:id'],
  ['/v1/files/a', 'GET', 'method_not_allowed'],
  ['/v1/files/a/b', 'GET', '/v1/files/*'],
  ['/v1/files/a/b', 'HEAD', '/v1/files/*'],
  ['/v1/files/a/meta', 'GET', '/v1/files/:id/meta'],
  ['/v1/files/a/meta/b', 'GET', '/v1/files/*'],
  ['/v1/files/', 'GET', '/v1/files/*'],
  ['/v1/files', 'GET', 'route_unknown'],
  ['/v1/files/Secret', 'GET', 'route_unknown'],
  ['/v1/files/SECRET', 'DELETE', 'route_unknown'],
  ['/v1/files/secret/', 'GET', 'route_unknown'],
  ['/v1/files/secret/x', 'GET', '/v1/files/*'],
  ['/v1/files/a/META', 'GET', 'route_unknown'],
  ['/v1/files/a/meta/', 'GET', 'route_unknown'],
  ['/v1/files/a/', 'GET', 'route_unknown'],
  ['/v1/Files/a', 'DELETE', 'route_unknown'],
  ['/V1/files/a', 'DELETE', 'route_unknown'],
  ['/v1/users/me', 'PUT', '/v1/users/me'],
  ['/v1/users/me', 'GET', 'method_not_allowed'],
  ['/v1/users/ME', 'GET', 'route_unknown'],
  ['/v1/users/you', 'GET', '/v1/users/:id'],
  ['/v1/users/', 'GET', 'route_unknown'],
  ['/v1/users/a/posts/1', 'GET', '/v1/users/:id/posts/*'],
  ['/v1/users/a/posts', 'GET', 'route_unknown'],
  ['/v1/items', 'POST', '/v1/items'],
  ['/v1/items/', 'POST', 'route_unknown'],
  ['/v1/ITEMS/', 'POST', 'route_unknown'],
  ['/v1/items/a', 'POST', '/v1/items/*'],
  ['/v1/items/a/', 'POST', '/v1/items/*'],
  ['/v1/kinds/a/export', 'GET', '/v1/kinds/:kind/export'],
  ['/v1/kinds/a/export/', 'GET', 'route_unknown'],
  ['/v1/kinds/a/export/b', 'GET', '/v1/kinds/:kind/export/*'],
  ['/v1/caf%C3%A9', 'GET', '/v1/caf%C3%A9'],
  ['/v1/any/x', 'OPTIONS', '/v1/any/*'],
  ['/v1/any/x', 'PUT', 'method_not_allowed'],
  ['/', 'GET', 'route_unknown'],
  ['/v1', 'GET', 'route_unknown'],
  ['/__proto__', 'GET', 'route_unknown'],
  ['/v1/files/secret', 'constructor', 'method_not_allowed'],
];

describe('findRoute', () => {
  for (const [path, method, found] of cases) {
    it(`${method} ${path} is ${found}`, () => assert.equal(outcome(path, method), found));
  }

  it('does not take a final slash from a path for a route that is less exact', () => {
    assert.equal(among(['/a/*', '/*'], '/a/'), '/a/*');
    assert.equal(among(['/a/:x/*', '/a/*'], '/a/b/'), '/a/:x/*');
    // What is without the slash is another endpoint.
    assert.equal(among(['/a/*', '/:x'], '/a/'), 'route_unknown');
    assert.equal(among(['/a/*', '/a'], '/a/'), 'route_unknown');
  });

  it('does not take an escaped spelling of a more exact path for a less exact one', () => {
    assert.equal(among(['/a/@me', '/a/:x'], '/a/%40me'), 'route_unknown');
    assert.equal(among(['/a/@me', '/a/:x'], '/a/%40you'), '/a/:x');
  });

  it('tells apart routes that differ only in letter case', () => {
    for (const paths of [
      ['/a/:x', '/A/:x'],
      ['/A/:x', '/a/:x'],
    ]) {
      for (const path of paths) assert.equal(among(paths, path.replace(':x', 'b')), path);
    }
  });

  it('finds the same whatever the order of the routes', () => {
    const paths = ['/a/*', '/a/:x', '/a/b', '/a/:x/c', '/a/b/*', '/a/b/c'];
    const orders = [paths, paths.toReversed(), paths.toSorted(), [...paths.slice(3), ...paths.slice(0, 3)]];
    for (const order of orders) {
      const routes = createRouteTable(order.map((path) => route(path)));
      const find = (path: string): string => findRoute({ path, method: 'GET' }, routes, 0).path;
      assert.deepEqual(['/a/b', '/a/z', '/a/b/c', '/a/z/c', '/a/b/z', '/a/z/z'].map(find), [
        '/a/b',
        '/a/:x',
        '/a/b/c',
        '/a/:x/c',
        '/a/b/*',
        '/a/*',
      ]);
    }
  });

  it('takes no longer among many thousands of routes', () => {
    const patterns = Array.from({ length: 20_000 }, (_, at) => `/v1/part${at}/:id/*`);
    const routes = createRouteTable(patterns.map((path) => route(path)));
    const last = { path: '/v1/part19999/a/b', method: 'GET' };
    const from = process.cpuUsage();
    for (let times = 0; times < 500; times += 1) findRoute(last, routes, 0);
    // To look at each of them would take seconds.
    assert.ok(process.cpuUsage(from).user < 500_000);
  });

  it('calls the more exact what the check of the configuration calls so', () => {
    const paths = [
      '/a/*',
      '/a/:x',
      '/a/b',
      '/:y/b',
      '/:y/:x',
      '/*',
      '/a/:x/c',
      '/a/b/:z',
      '/a/b/*',
      '/:y/b/c',
    ];
    for (const one of paths.map(segmentsOf)) {
      for (const other of paths.map(segmentsOf)) {
        const relation = compareSegments(one, other);
        if (relation === 'same') assert.equal(byExactness(one, other), 0);
        if (relation === 'ordered') assert.notEqual(byExactness(one, other), 0);
        assert.equal(Math.sign(byExactness(one, other)), 0 - Math.sign(byExactness(other, one)));
      }
    }
  });

  it('says which methods there are', () => {
    assert.equal(refusalOf(() => routeOf('/v1/any/x', 'PUT'))?.headers['Allow'], 'OPTIONS, GET, HEAD');
    assert.equal(refusalOf(() => routeOf('/v1/files/secret', 'GET'))?.headers['Allow'], 'POST');
  });

  it('serves a version until its sunset, and says afterwards that it is gone', () => {
    assert.equal(outcome('/v0/old', 'GET', sunsetAt - 1), '/v0/old');
    assert.equal(outcome('/v0/old', 'GET', sunsetAt), 'version_gone');
    assert.equal(
      refusalOf(() => routeOf('/v0/old', 'GET', sunsetAt))?.headers['Sunset'],
      'Fri, 01 Jan 2027 00:00:00 GMT',
    );
  });
});

function routeOf(path: string, method: string, now = 0): Route {
  return findRoute({ path, method }, table, now);
}

function outcome(path: string, method: string, now = 0): string {
  return refusalOf(() => routeOf(path, method, now))?.code ?? routeOf(path, method, now).path;
}

/** The path of the route that is found among these, or the code of the refusal. */
function among(paths: readonly string[], path: string): string {
  const routes = createRouteTable(paths.map((each) => route(each)));
  try {
    return findRoute({ path, method: 'GET' }, routes, 0).path;
  } catch (error) {
    return error instanceof Refusal ? error.code : 'broken';
  }
}
