import { characterSets, type CharacterSets } from './character-sets.ts';
import { drawPattern } from './pattern-graph.ts';
import { averageReads, mostReads, pastHead, placesSearched } from './pattern-reads.ts';
import { nextOf, pairsAfter, statesMet, type State, type Steps } from './pattern-search.ts';
import {
  charactersOf,
  parsePattern,
  PatternTooLarge,
  repeatsOf,
  type PatternRepeat,
  type PatternTree,
} from './pattern-tree.ts';

/** Why a regular expression can take long on a hostile text (CWE-1333), and the characters it is about. */
export type Slowness =
  /** The same characters can be read in two ways over and over: the time doubles with each, or is as bad in the end. */
  | { readonly kind: 'doubling'; readonly at: string }
  /** A text can be divided between two repetitions anywhere: the time grows with the square of the length, or more. */
  | { readonly kind: 'dividing'; readonly at: readonly [string, string] }
  /** The same, as the search starts again at each character of a repetition. */
  | { readonly kind: 'searching'; readonly at: string }
  /** Counts make a search read so many characters, or more, before it starts again at the next. */
  | { readonly kind: 'counting'; readonly at: string; readonly reads: number }
  /** Too large to tell in time. */
  | { readonly kind: 'unknown' };

/**
 * Undefined for a pattern whose time grows no faster than the text and is short for a text of this length, and for one that is not
 * well formed. A pattern is parsed, drawn as an automaton and searched for ways to read one text twice; then what its counts make a
 * search read is added up (record 34).
 */
export function slownessOf(pattern: string, textLength: number): Slowness | undefined {
  try {
    RegExp(pattern, 'u');
    const tree = parsePattern(pattern);
    const steps = { left: stepsMax };
    const sets = characterSets(charactersOf(tree));
    const doubling = drawPattern(tree, { sets, isEndless: hasManyWays, looksEnd: true });
    const found = findDoubling(statesMet(doubling, steps), steps);
    if (found !== undefined) return found;
    const growing = drawPattern(tree, { sets, isEndless: () => false, looksEnd: false });
    const states = statesMet(growing, steps);
    return (
      findGrowing(states, statesMet(growing, steps, { pastEnds: true }), steps) ??
      findCounting({ tree, sets, textLength }, steps)
    );
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof PatternTooLarge) return { kind: 'unknown' };
    throw error;
  }
}

/** About 30 ms. */
const stepsMax = 200_000;
/** Every character of any sample. */
const everything = -1n;
/** About 10 ms: counts that leave this many ways to read a text are as bad as endless repetitions. */
const endlessFrom = 100_000;
/** About 100 ms. */
const readsMax = 2 ** 24;
/** A search that reads a character no more often costs little beside what a text of that length costs anyway. */
const readsLeast = 16;

function hasManyWays(part: PatternTree): boolean {
  return waysThrough(part) >= endlessFrom;
}

/** In how many ways a part of a pattern can read a text, at most: only its counts and its alternatives differ. */
function waysThrough(part: PatternTree): number {
  switch (part.kind) {
    case 'sequence':
      return part.parts.reduce((product, each) => product * waysThrough(each), 1);
    case 'choice':
      return part.parts.reduce((sum, each) => sum + waysThrough(each), 0);
    case 'repeat': {
      const most = Math.min(part.most, part.least + enough);
      const ways = waysThrough(part.part);
      return ways === 1 ? most - part.least + 1 : Math.min(ways ** most, Number.MAX_VALUE);
    }
    case 'character':
    case 'place':
    case 'look':
    default:
      return 1;
  }
}

/** Endless or not, this many rounds over the least are enough. */
const enough = 20;

/** Looks for two ways round a circle that take the same characters and meet again: an exponential degree of ambiguity (EDA). */
function findDoubling(states: readonly State[], steps: Steps): Slowness | undefined {
  const queue: (readonly [State, State])[] = [];
  for (const from of states) {
    if (from.circle === undefined) continue;
    const twice = from.next.find(({ state, ways }) => ways > 1 && state.circle === from.circle);
    if (twice !== undefined) return { kind: 'doubling', at: twice.state.text };
    queue.push([from, from]);
  }
  const seen = new Set<string>();
  for (const [one, other] of queue) {
    for (const { first, second } of pairsAfter(one, other, steps)) {
      if (first.circle !== one.circle || second.circle !== one.circle) continue;
      if (first === second && one !== other) return { kind: 'doubling', at: first.text };
      const key = `${Math.min(first.id, second.id)} ${Math.max(first.id, second.id)}`;
      if (first === second || seen.has(key)) continue;
      seen.add(key);
      queue.push([first, second]);
    }
  }
  return undefined;
}

/**
 * Looks for a text that one repetition takes, a later one takes, and that leads from one to the other: an infinite degree (IDA). One
 * that may end is left then, but at each of its rounds another is tried in vain: `^(?:a+b|a)*`.
 */
function findGrowing(
  states: readonly State[],
  pastEnds: readonly State[],
  steps: Steps,
): Slowness | undefined {
  const later = new Map<unknown, readonly State[]>();
  for (const from of pastEnds) {
    const tries = states[from.id];
    const isOver = from.text === '' && from.ends;
    if (from.circle === undefined || isOver || tries === undefined) continue;
    const { circle } = tries;
    const others = later.getOrInsertComputed(circle ?? tries, () =>
      [...reachedFrom(tries, steps)].filter((each) => each.circle !== undefined && each.circle !== circle),
    );
    const to = others.find((each) => !isOverWith(from, each) && canDivide([from, tries, each], steps));
    if (to === undefined) continue;
    return from.text === ''
      ? { kind: 'searching', at: to.text }
      : { kind: 'dividing', at: [from.text, to.text] };
  }
  return undefined;
}

/**
 * Looks for counts that let a search read very much from each character of a text before it starts again at the next, or as much
 * from a single one.
 */
function findCounting({ tree, sets, textLength }: Search, steps: Steps): Slowness | undefined {
  const slowFrom = Math.max(readsLeast, readsMax / placesSearched(tree, textLength));
  const most = mostReads(tree, sets);
  if (most.reads >= slowFrom) return { kind: 'counting', ...most };
  const once = mostReads(pastHead(tree), sets, textLength);
  if (once.reads >= readsMax) return { kind: 'doubling', at: once.at };
  const isLong = (repeat: PatternRepeat): boolean => {
    const reads = averageReads(repeat);
    return reads >= slowFrom && reads !== Infinity;
  };
  if (!repeatsOf(tree).some(isLong)) return undefined;
  const states = statesMet(drawPattern(tree, { sets, isEndless: isLong, looksEnd: false }), steps);
  const search = states.filter(({ text }) => text === '');
  const found = findGrowing(states, search, steps);
  return found?.kind === 'searching' ? { kind: 'counting', at: found.at, reads: slowFrom } : undefined;
}

interface Search {
  readonly tree: PatternTree;
  readonly sets: CharacterSets;
  readonly textLength: number;
}

/** What a look has found is not looked for again, in any other way it could be. */
function isOverWith(from: State, to: State): boolean {
  return to.endsLook && to.look === from.look;
}

function reachedFrom(from: State, steps: Steps): ReadonlySet<State> {
  const reached = new Set([from]);
  for (const state of reached) {
    for (const next of nextOf(state, everything, steps)) reached.add(next);
  }
  return reached;
}

/** Whether the same text leads from a repetition back to it, from there (`tries`) to another, and from this one back to it. */
function canDivide([from, tries, to]: Three, steps: Steps): boolean {
  const queue: Three[] = [[from, tries, to]];
  const seen = new Set<string>();
  for (const [stays, goes, waits] of queue) {
    for (const { first, second, takes } of pairsAfter(stays, goes, steps)) {
      if (first.circle !== from.circle) continue;
      for (const third of nextOf(waits, takes, steps)) {
        if (third.circle !== to.circle) continue;
        if (first === from && second === to && third === to) return true;
        const key = `${first.id} ${second.id} ${third.id}`;
        if (seen.has(key)) continue;
        seen.add(key);
        queue.push([first, second, third]);
      }
    }
  }
  return false;
}

type Three = readonly [stays: State, goes: State, waits: State];
