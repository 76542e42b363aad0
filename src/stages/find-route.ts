import type { Route } from '../config/config.ts';
import { PathTree } from '../config/path-tree.ts';
import { byExactness, isLiteral, segmentsOf, type Segment } from '../config/route-path.ts';
import { Refusal } from '../refusals.ts';
import { versionHeaders } from '../wire/version-headers.ts';
import type { Head } from './check-request.ts';

/** All routes that share one path, by method. */
interface Endpoint {
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly routes: Map<string, Route>;
  allow: string;
}

/** The routes of the configuration, ready to be searched. */
export interface RouteTable {
  readonly exact: ReadonlyMap<string, Endpoint>;
  readonly patterns: PathTree<Endpoint>;
  /** All of them, folded, to find the one that a request nearly matches. */
  readonly folded: PathTree<Endpoint>;
}

/**
 * Head → Route. 404 405 410.
 * Literal segments win over `:name`, and `:name` over `*`. A request that reaches a pattern, yet differs from a more specific
 * route, or from one without `*`, only in letter case, escapes or a final slash, is unknown: a lax upstream would serve it as the
 * other one, whose rules it would have escaped.
 */
export function findRoute(head: Pick<Head, 'path' | 'method'>, table: RouteTable, now: number): Route {
  const endpoint = findEndpoint(head.path, table);
  if (endpoint === undefined) throw new Refusal('route_unknown');
  const route = endpoint.routes.get(head.method);
  if (route === undefined) throw new Refusal('method_not_allowed', { headers: { Allow: endpoint.allow } });
  const version = route.version;
  if (version?.afterSunset === 'gone' && version.sunsetAt !== undefined && version.sunsetAt <= now) {
    throw new Refusal('version_gone', { headers: versionHeaders(version) });
  }
  return route;
}

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const endpoints = new Map<string, Endpoint>();
  for (const route of routes) {
    const shape = route.path.replace(/\/:[^/]+/g, '/:');
    const endpoint = endpoints.getOrInsertComputed(shape, () => createEndpoint(route.path));
    for (const method of route.methods) endpoint.routes.set(method, route);
    endpoint.allow = [...endpoint.routes.keys()].join(', ');
  }
  const table = {
    exact: new Map<string, Endpoint>(),
    patterns: new PathTree<Endpoint>((text) => text),
    folded: new PathTree<Endpoint>(foldCase),
  };
  for (const endpoint of endpoints.values()) {
    if (isLiteral(endpoint.segments)) table.exact.set(endpoint.path, endpoint);
    else table.patterns.add(endpoint.segments, endpoint);
    table.folded.add(endpoint.segments, endpoint);
  }
  return table;
}

function findEndpoint(path: string, table: RouteTable): Endpoint | undefined {
  const exact = table.exact.get(path);
  if (exact !== undefined) return exact;
  if (table.patterns.isEmpty) return undefined;
  const segments = path.slice(1).split('/').map(decode);
  const endpoint = table.patterns.find(segments);
  if (endpoint === undefined) return undefined;
  const bare = segments.at(-1) === '' ? segments.slice(0, -1) : segments;
  const nearest = table.folded.find(bare);
  if (nearest === undefined) return endpoint;
  // The `*` takes nothing but a final slash: the path without it is an endpoint of its own, unless another `*` takes it too.
  if (bare.length < endpoint.segments.length && nearest.segments.at(-1)?.kind !== 'rest') return undefined;
  return byExactness(nearest.segments, endpoint.segments) >= 0 ? endpoint : undefined;
}

function createEndpoint(path: string): Endpoint {
  return { path, segments: segmentsOf(path), routes: new Map(), allow: '' };
}

/** Canonical paths hide no slash in an escape, so a segment can be decoded on its own. */
function decode(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment;
}

/**
 * Also folds letters that have only one case in common, since some servers compare that: the upper case of `ı` and `i`, of `ſ` and
 * `s`; the lower one of `İ` and `i`, as Go and Java see it, where JavaScript and others write two characters.
 */
function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i');
}
