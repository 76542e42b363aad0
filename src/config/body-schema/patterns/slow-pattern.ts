import { characterSets } from './character-sets.ts';
import { drawPattern } from './pattern-graph.ts';
import { nextOf, pairsAfter, statesMet, type State, type Steps } from './pattern-search.ts';
import { charactersOf, parsePattern, PatternTooLarge, type PatternTree } from './pattern-tree.ts';

/** Why a regular expression can take long on a hostile text (CWE-1333), and the characters it is about. */
export type Slowness =
  /** The same characters can be read in two ways over and over: the time doubles with each, or is as bad in the end. */
  | { readonly kind: 'doubling'; readonly at: string }
  /** A text can be divided between two repetitions anywhere: the time grows with the square of the length, or more. */
  | { readonly kind: 'dividing'; readonly at: readonly [string, string] }
  /** The same, as the search starts again at each character of a repetition. */
  | { readonly kind: 'searching'; readonly at: string }
  /** Too large to tell in time. */
  | { readonly kind: 'unknown' };

/**
 * Undefined for a pattern whose time grows no faster than the text, and for one that is not well formed. A pattern is parsed, drawn as
 * an automaton and searched for ways to read one text twice (record 34).
 */
export function slownessOf(pattern: string): Slowness | undefined {
  try {
    RegExp(pattern, 'u');
    const tree = parsePattern(pattern);
    const steps = { left: stepsMax };
    const sets = characterSets(charactersOf(tree));
    const endlessFrom = isAnchored(tree, 0) || isAnchored(tree, -1) ? manyWays : manyWaysAnywhere;
    const isEndless = (part: PatternTree): boolean => waysThrough(part) >= endlessFrom;
    const doubling = drawPattern(tree, sets, isEndless);
    const found = findDoubling(statesMet(doubling, steps), steps);
    if (found !== undefined) return found;
    const growing = drawPattern(tree, sets, () => false);
    return findGrowing(statesMet(growing, steps), statesMet(growing, steps, { pastEnds: true }), steps);
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
const manyWays = 100_000;
/** The same where the search starts again at each character. */
const manyWaysAnywhere = 1000;

/** Whether it fits at the start of a text only, or at its end (-1): from there V8 searches for what has only so many characters. */
function isAnchored(part: PatternTree | undefined, end: 0 | -1): boolean {
  if (part?.kind === 'place') return part.text === '^$'.at(end);
  if (part?.kind === 'sequence') return isAnchored(part.parts.at(end), end);
  return part?.kind === 'choice' && part.parts.every((each) => isAnchored(each, end));
}

/** In how many ways a part of a pattern can read a text, at most: only its counts and its alternatives differ. */
function waysThrough(part: PatternTree): number {
  switch (part.kind) {
    case 'sequence':
      return part.parts.reduce((product, each) => product * waysThrough(each), 1);
    case 'choice':
      return part.parts.reduce((sum, each) => sum + waysThrough(each), 0);
    case 'repeat': {
      const most = part.most === Infinity ? part.least + enough : part.most;
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

/** An endless repetition counts with this many rounds over the least. */
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
    const to = others.find((each) => canDivide([from, tries, each], steps));
    if (to === undefined) continue;
    return from.text === ''
      ? { kind: 'searching', at: to.text }
      : { kind: 'dividing', at: [from.text, to.text] };
  }
  return undefined;
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
