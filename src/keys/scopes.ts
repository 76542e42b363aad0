import type { Route } from '../config/config.ts';
import { PathTree } from '../config/path-tree.ts';
import { fits, segmentsOf, type Segment } from '../config/route-path.ts';

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
export function isOfUse(scope: string, routes: readonly NamedPath[]): boolean {
  const { names, paths } = compiledRoutes.getOrInsertComputed(routes, compileRoutes);
  return names.has(scope) || (scope.startsWith('/') && paths.meets(segmentsOf(scope)));
}

type NamedPath = Pick<Route, 'name' | 'path'>;

interface CompiledRoutes {
  readonly names: ReadonlySet<string>;
  readonly paths: PathTree<NamedPath>;
}

/** An import asks about the same routes a million times. */
const compiledRoutes = new WeakMap<readonly NamedPath[], CompiledRoutes>();

function compileRoutes(routes: readonly NamedPath[]): CompiledRoutes {
  const paths = new PathTree<NamedPath>((text) => text);
  for (const route of routes) paths.add(segmentsOf(route.path), route);
  return { names: new Set(routes.map(({ name }) => name)), paths };
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
