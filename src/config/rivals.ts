import { compareSegments, segmentsOf, type Segment } from './route-path.ts';
import type { RawRoute } from './schema.ts';
import { answeredMethods } from './schema/routes.ts';

/** A route as others are compared with it. */
interface Contender {
  readonly route: RawRoute;
  readonly at: number;
  readonly segments: readonly Segment[];
  readonly methods: ReadonlySet<string>;
}

/** All whose segments are of the same kinds, in their order. */
interface Family {
  /** Their segments, as if all texts were one. */
  readonly kinds: readonly Segment[];
  readonly members: readonly Contender[];
  /** Where the first of them is. */
  readonly begins: number;
}

/**
 * Each route that competes with one before it, and the first such: their paths overlap ambiguously, or are the same for a common
 * method. Paths relate as the kinds of their segments do, unless they are apart by a text. So of large families only the kinds are
 * compared, and among thousands of routes a rival is found by its texts. Where each is of a shape of its own, every pair is looked at,
 * but briefly: those that are apart by their lengths are not, nor those that come too late to be the first.
 */
export function rivalsOf(routes: readonly RawRoute[]): ReadonlyMap<Contender, Contender> {
  const families = familiesOf(routes.map(contender));
  const neighbours = neighboursAmong(families);
  const rivals = new Map<Contender, Contender>();
  const bound = (one: Contender): number => (rivals.get(one) ?? one).at;
  for (const family of families) {
    for (const others of neighbours(family)) {
      // All that follow begin later still: none of them is the first rival of any member.
      if (family.members.every((one) => bound(one) <= others.begins)) break;
      const candidates = candidatesAmong(others, family);
      for (const one of family.members) {
        const first = bound(one);
        const rival = candidates(one).find((other) => other.at < first && compete(one, other));
        if (rival !== undefined) rivals.set(one, rival);
      }
    }
  }
  return rivals;
}

function contender(route: RawRoute, at: number): Contender {
  return { route, at, segments: segmentsOf(route.path), methods: answeredMethods(route.methods) };
}

function familiesOf(all: readonly Contender[]): readonly Family[] {
  const byKinds = Map.groupBy(all, ({ segments }) => segments.map(({ kind }) => kind).join());
  return [...byKinds.values()].map((members) => {
    const [{ segments, at }] = members as [Contender, ...Contender[]];
    return { kinds: segments.map((segment) => ({ ...segment, text: '' })), members, begins: at };
  });
}

/** Finds the families that are not apart from one by their lengths alone, in the order in which they begin. */
function neighboursAmong(families: readonly Family[]): (family: Family) => readonly Family[] {
  const byLength = new Map<number | undefined, readonly Family[]>();
  const neighboursOf = (length: number | undefined): readonly Family[] =>
    families.filter((other) => length === undefined || [length, undefined].includes(lengthOf(other)));
  return (family) => byLength.getOrInsertComputed(lengthOf(family), neighboursOf);
}

/** How many segments a request has that fits; undefined where a final `*` leaves it open. */
function lengthOf({ kinds }: Family): number | undefined {
  return kinds.at(-1)?.kind === 'rest' ? undefined : kinds.length;
}

/** Finds which of the others may compete with one of a family. It may be itself. */
function candidatesAmong(others: Family, family: Family): (one: Contender) => readonly Contender[] {
  if (Math.min(others.members.length, family.members.length) <= few) return () => others.members;
  const relation = compareSegments(family.kinds, others.kinds);
  if (relation === 'apart' || relation === 'ordered') return () => [];
  const byTexts = Map.groupBy(others.members, ({ segments }) => textsBeside(family.kinds, segments));
  return ({ segments }) => byTexts.get(textsBeside(others.kinds, segments)) ?? [];
}

/** To compare each of so few takes less time than to tell others by their texts. */
const few = 8;

/** The texts that must be those of another path too, or the two are apart. */
function textsBeside(others: readonly Segment[], segments: readonly Segment[]): string {
  return segments
    .flatMap((one, at) => (one.kind === 'literal' && others[at]?.kind === 'literal' ? one.text : []))
    .join('/');
}

function compete(one: Contender, other: Contender): boolean {
  if (differInText(one.segments, other.segments)) return false;
  const relation = compareSegments(one.segments, other.segments);
  return relation === 'ambiguous' || (relation === 'same' && !one.methods.isDisjointFrom(other.methods));
}

/** Whether two are apart by a text, as most are. Paths commonly begin alike, so the end tells it sooner. */
function differInText(one: readonly Segment[], other: readonly Segment[]): boolean {
  for (let at = Math.min(one.length, other.length) - 1; at >= 0; at -= 1) {
    const [a, b] = [one[at], other[at]];
    if (a?.kind === 'literal' && b?.kind === 'literal' && a.text !== b.text) return true;
  }
  return false;
}
