/** One step of a route's path: exact text, `:name` (any one segment) or a final `*` (the rest, one segment at least). */
export type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'rest' };

/** How two paths relate: no request fits both, one is always the more exact, they are the same, or neither wins. */
type Relation = 'apart' | 'ordered' | 'same' | 'ambiguous';

const literal = /^[A-Za-z0-9!$&'()+,=:@\-._~]+$/;
const variable = /^:[A-Za-z_][A-Za-z0-9_]*$/;
const rank = { literal: 0, name: 1, rest: 2 } as const;

/** The segments of a path that has passed `pathFault`. */
export function segmentsOf(path: string): readonly Segment[] {
  return path === '/' ? [] : path.slice(1).split('/').map(segment);
}

/** The path as clients call it. */
export function pathBelow(base: string, path: string): string {
  if (base === '/') return path;
  return path === '/' ? base : `${base}${path}`;
}

/** What is wrong with a route's path, to be read after the path; undefined when nothing is. */
export function pathFault(path: string): string | undefined {
  if (path === '/') return undefined;
  const parts = path.slice(1).split('/');
  const fault =
    outlineFault(path, parts) ??
    parts.map((part, at) => partFault(part, at === parts.length - 1)).find(Boolean);
  if (fault !== undefined) return fault;
  const names = parts.filter((part) => part.startsWith(':'));
  return new Set(names).size < names.length ? 'uses one :name twice' : undefined;
}

/** What is wrong with the base path, which has literal segments only. */
export function basePathFault(path: string): string | undefined {
  const fault = pathFault(path);
  if (fault !== undefined) return fault;
  return isLiteral(segmentsOf(path)) ? undefined : 'must not contain ":name" or "*"';
}

/** Whether one path alone fits, by the letter. */
export function isLiteral(pattern: readonly Segment[]): boolean {
  return pattern.every(({ kind }) => kind === 'literal');
}

/** Whether a path fits a pattern: `:name` takes exactly one segment that is not empty, a final `*` one or more. */
export function fits(pattern: readonly Segment[], parts: readonly string[]): boolean {
  for (const [at, wanted] of pattern.entries()) {
    const part = parts[at];
    if (part === undefined) return false;
    if (wanted.kind === 'rest') return true;
    if (wanted.kind === 'name' ? part === '' : wanted.text !== part) return false;
  }
  return pattern.length === parts.length;
}

/** Compares two paths segment by segment; a literal is more exact than `:name`, and `:name` than `*`. */
export function compareSegments(one: readonly Segment[], other: readonly Segment[]): Relation {
  let oneWins = false;
  let otherWins = false;
  for (let at = 0; ; at += 1) {
    const a = one[at];
    const b = other[at];
    if (a === undefined || b === undefined) {
      if (a !== b) return 'apart';
      break;
    }
    if (a.kind === 'literal' && b.kind === 'literal' && a.text !== b.text) return 'apart';
    oneWins ||= rank[a.kind] < rank[b.kind];
    otherWins ||= rank[b.kind] < rank[a.kind];
    if (a.kind === 'rest' || b.kind === 'rest') break;
  }
  if (oneWins && otherWins) return 'ambiguous';
  return oneWins || otherWins ? 'ordered' : 'same';
}

/** A request that fits two paths which are not apart. */
export function commonPath(one: readonly Segment[], other: readonly Segment[]): string {
  const longer = one.length > other.length ? one : other;
  const parts = longer.map((_, at) => {
    const texts = [one[at], other[at]].flatMap((part) => (part?.kind === 'literal' ? part.text : []));
    return texts[0] ?? 'x';
  });
  return `/${parts.join('/')}`;
}

/**
 * Negative where the first of two paths is the more exact. For paths that one request can fit, it agrees with `compareSegments`: the
 * first segment in which they differ in kind decides, and no such pair is ambiguous in a configuration that has been checked.
 */
export function byExactness(one: readonly Segment[], other: readonly Segment[]): number {
  for (const [at, { kind }] of one.entries()) {
    const difference = rank[kind] - rank[other[at]?.kind ?? kind];
    if (difference !== 0) return difference;
  }
  return other.length - one.length;
}

function outlineFault(path: string, parts: readonly string[]): string | undefined {
  if (!path.startsWith('/')) return 'must start with "/"';
  if (path.includes('//')) return 'must not contain an empty segment';
  if (path.endsWith('/')) return 'must not end with "/"';
  if (path.length > 1024) return 'is longer than 1024 characters';
  return parts.some((part) => part === '.' || part === '..')
    ? 'must not contain "." or ".." as a segment'
    : undefined;
}

function partFault(part: string, last: boolean): string | undefined {
  if (part.includes('*'))
    return part === '*' && last ? undefined : 'may have "*" only alone, as its last segment';
  if (part.startsWith(':')) {
    return variable.test(part) ? undefined : 'has a ":name" that is not letters, digits and "_"';
  }
  if (part.includes('%')) return 'must not be percent-encoded';
  if (/^\{\w+\}$/.test(part)) return 'has a name in braces, which routes write as :name';
  return literal.test(part) ? undefined : "may contain letters, digits and -._~!$&'()+,=:@ only";
}

function segment(part: string): Segment {
  if (part === '*') return { kind: 'rest' };
  return part.startsWith(':') ? { kind: 'name', text: part.slice(1) } : { kind: 'literal', text: part };
}
