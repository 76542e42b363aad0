import { isLiteral, pathBelow, segmentsOf } from './route-path.ts';

/** How a route's requests are written for an upstream that has another base path than the gateway. */
export interface Rebase {
  /** The base path of the gateway. */
  readonly from: string;
  /** What stands in its place: '' for `/`, because a slash follows. */
  readonly to: string;
  /** The path of the route at the upstream. */
  readonly path: string;
  /** How many segments of a request are those of `from`; undefined where a route is literal text, and `path` is sent as it is. */
  readonly depth: number | undefined;
}

/** Undefined where both have the same base path, so that nothing is to be done. */
export function createRebase(path: string, from: string, to: string): Rebase | undefined {
  if (from === to) return undefined;
  return {
    from,
    to: to === '/' ? '' : to,
    path: pathBelow(to, path),
    depth: isLiteral(segmentsOf(path)) ? undefined : segmentsOf(from).length,
  };
}

/**
 * The path of a request as its upstream gets it. What is below the base path stays byte for byte. Segments are counted, not
 * characters: `from` may come with escapes (`%24` for `$`), and is longer then.
 */
export function rebase(path: string, { to, path: whole, depth }: Rebase): string {
  if (depth === undefined) return whole;
  // A pattern has a segment of its own below the base path, so a slash is found each time.
  let below = 0;
  for (let passed = 0; passed < depth; passed += 1) below = path.indexOf('/', below + 1);
  return to + path.slice(below);
}
