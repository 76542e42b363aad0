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

/** All whose segments are of the same kinds. */
interface Family {
  /** Their segments, as if all texts were one. */
  readonly kinds: readonly Segment[];
  readonly members: readonly Contender[];
}

/**
 * Each route that competes with one before it, and the first such: their paths overlap ambiguously, or are the same for a common
 * method. Paths relate as the kinds of their segments do, unless they are apart by a text. So of large families only the kinds are
 * compared, and among thousands of routes a rival is found by its texts.
 */
export function rivalsOf(routes: readonly RawRoute[]): ReadonlyMap<Contender, Contender> {
  const families = familiesOf(routes.map(contender));
  const rivals = new Map<Contender, Contender>();
  for (const family of families) {
    for (const others of families) {
      const candidates = candidatesAmong(others, family);
      for (const one of family.members) {
        const first = rivals.get(one) ?? one;
        const rival = candidates(one).find((other) => other.at < first.at && compete(one, other));
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
  return [...byKinds.values()].map((members) => ({ kinds: kindsIn(members), members }));
}

function kindsIn([first]: readonly Contender[]): readonly Segment[] {
  return (first?.segments ?? []).map((segment) => ({ ...segment, text: '' }));
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
  const relation = compareSegments(one.segments, other.segments);
  return relation === 'ambiguous' || (relation === 'same' && !one.methods.isDisjointFrom(other.methods));
}
