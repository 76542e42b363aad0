import type { Route } from '../config/config.ts';
import { compareSegments, fits, segmentsOf, type Segment } from '../config/route-path.ts';

/**
 * Whether the scopes of a key cover a request. A scope is the name of a route, or a pattern of paths as routes have them:
 * `/v1/voice/*`. It is compared with the canonical path to the letter: another letter case, an escape or an extra final slash is
 * not covered.
 */
export function covers(scopes: readonly string[], { name }: Pick<Route, 'name'>, path: string): boolean {
  if (scopes.length === 0 || (isChosen(name) && scopes.includes(name))) return true;
  const patterns = compiled.getOrInsertComputed(scopes, patternsOf);
  return patterns.some((pattern) => matches(pattern, path));
}

/** A route without a name goes by its path, which a scope cannot use as a name: there it is a pattern. */
function isChosen(name: string): boolean {
  return !name.startsWith('/');
}

/** Whether this scope could cover some request on one of the routes. */
export function isOfUse(scope: string, routes: readonly Pick<Route, 'name' | 'path'>[]): boolean {
  if (routes.some(({ name }) => name === scope)) return true;
  if (!scope.startsWith('/')) return false;
  const pattern = segmentsOf(scope);
  const paths = compiledRoutes.getOrInsertComputed(routes, pathsOf);
  return paths.some((path) => compareSegments(pattern, path) !== 'apart');
}

/** An import asks about the same routes a million times. */
const compiledRoutes = new WeakMap<readonly Pick<Route, 'path'>[], readonly (readonly Segment[])[]>();

function pathsOf(routes: readonly Pick<Route, 'path'>[]): readonly (readonly Segment[])[] {
  return routes.map(({ path }) => segmentsOf(path));
}

const compiled = new WeakMap<readonly string[], readonly (readonly Segment[])[]>();

function patternsOf(scopes: readonly string[]): readonly (readonly Segment[])[] {
  return scopes.filter((scope) => scope.startsWith('/')).map(segmentsOf);
}

/** A `*` matches no empty segment here: a lax upstream would serve `/a/` as `/a`, which `/a/*` does not cover. */
function matches(pattern: readonly Segment[], path: string): boolean {
  const parts = path === '/' ? [] : path.slice(1).split('/');
  return parts[pattern.length - 1] !== '' && fits(pattern, parts);
}
