import type { CharacterSets } from './character-sets.ts';
import {
  charactersOf,
  PatternTooLarge,
  repeatsOf,
  type PatternRepeat,
  type PatternTree,
} from './pattern-tree.ts';

/**
 * How many characters a failing search reads from each place at most, over all texts that are one character again and again, and
 * which repeated part of the pattern takes that one. No text is longer than `length`. An endless repetition counts with its required
 * rounds only. Throws `PatternTooLarge`.
 */
export function mostReads(
  tree: PatternTree,
  sets: CharacterSets,
  length = Infinity,
): { readonly reads: number; readonly at: string } {
  const parts = charactersOf(tree);
  const repeated = repeatsOf(tree)
    .filter(({ most }) => most > 1)
    .flatMap(charactersOf);
  if (sets.kinds.length * parts.length > readingsMax) throw new PatternTooLarge();
  let most = { reads: 0, at: '' };
  for (const kind of sets.kinds) {
    const takes = (text: string): boolean => (sets.of(text) & kind) !== 0n;
    const at = repeated.find(takes);
    if (at === undefined) continue;
    const { isSure, vain } = read(tree, { takes, length });
    if (!isSure && vain > most.reads) most = { reads: vain, at };
  }
  return most;
}

/** A pattern without what stands before its first repetition: once in a text, as at its start, that may well fit. */
export function pastHead(part: PatternTree): PatternTree {
  if (part.kind === 'choice') return { ...part, parts: part.parts.map(pastHead) };
  if (part.kind !== 'sequence' || !isRepeated(part)) return part;
  const [first, ...rest] = part.parts.slice(part.parts.findIndex(isRepeated));
  return first === undefined ? part : { ...part, parts: [pastHead(first), ...rest] };
}

function isRepeated(part: PatternTree): boolean {
  return repeatsOf(part).some(({ most }) => most > 1);
}

/** About 100 ms. */
const readingsMax = 300_000;

/** How many places of a text a failing search starts from: the engine leaves out those too far from the end for a `$`. */
export function placesSearched(tree: PatternTree, textLength: number): number {
  const most = measure(tree, length);
  return most < backsearchLimit && isAtEnd(tree) ? Math.min(most, textLength) : textLength;
}

/** V8's `kMaxBacksearchLimit` of 1024, as with the flag `u` a character may be two units of the text. */
const backsearchLimit = 512;

function isAtEnd(part: PatternTree | undefined): boolean {
  if (part?.kind === 'place') return part.text === '$';
  if (part?.kind === 'sequence') return isAtEnd(part.parts.at(-1));
  return part?.kind === 'choice' && part.parts.every(isAtEnd);
}

/**
 * How many characters the longest text of a repetition, again and again, makes a search read from each place on average: only from
 * those where a round can begin does it go on to the end.
 */
export function averageReads({ part, most }: PatternRepeat): number {
  return most * measure(part, beginnings);
}

function isOptional(part: PatternTree): boolean {
  return part.kind === 'repeat' && part.least === 0;
}

/** How the characters of a part are added up. */
interface Measure {
  readonly rounds: (repeat: PatternRepeat) => number;
  /** Whether a part of a sequence, which has come to so many, is the last that counts. */
  readonly isLast: (part: PatternTree, sum: number) => boolean;
}

/** How many characters a part can take, at most. */
const length: Measure = { rounds: ({ most }) => most, isLast: () => false };

/** At how many places of its longest text a part may begin: `[a-z]{1,20}-` at each of 20 letters, `-[a-z]{1,20}` at one. */
const beginnings: Measure = {
  rounds: ({ least, most }) => most - Math.max(least, 1) + 1,
  isLast: (part, sum) => sum > 0 && !isOptional(part),
};

function measure(part: PatternTree, by: Measure): number {
  switch (part.kind) {
    case 'sequence': {
      let sum = 0;
      for (const each of part.parts) {
        const inIt = measure(each, by);
        sum += inIt;
        if (by.isLast(each, inIt)) break;
      }
      return sum;
    }
    case 'choice':
      return part.parts.reduce((most, each) => Math.max(most, measure(each, by)), 0);
    case 'repeat':
      return part.most === 0 ? 0 : by.rounds(part) * measure(part.part, by);
    case 'character':
      return 1;
    case 'place':
    case 'look':
    default:
      return 0;
  }
}

/** What a part does at one place of such a text. */
interface Reading {
  /** In how many ways it can read on, and in how many of them it takes nothing. */
  readonly ways: number;
  readonly empty: number;
  /** How many characters it takes in all of them together. */
  readonly reads: number;
  /** How many of these are read before something in it may fail. */
  readonly vain: number;
  /** Whether it never fails. */
  readonly isSure: boolean;
}

const passes: Reading = { ways: 1, empty: 1, reads: 0, vain: 0, isSure: true };
const fails: Reading = { ways: 0, empty: 0, reads: 0, vain: 0, isSure: false };

/** What is read: one character again and again. */
interface Text {
  readonly takes: (part: string) => boolean;
  readonly length: number;
}

function read(part: PatternTree, text: Text): Reading {
  switch (part.kind) {
    case 'character':
      return text.takes(part.text) ? { ...passes, empty: 0, reads: 1 } : fails;
    case 'place':
      // Between two characters that are the same there is no border.
      return part.text === String.raw`\B` ? { ...passes, isSure: false } : fails;
    case 'look': {
      const { reads } = read(part.part, text);
      return { ...passes, reads, vain: reads, isSure: false };
    }
    case 'choice':
      return part.parts.map((each) => read(each, text)).reduce(either, fails);
    case 'sequence':
      return part.parts.map((each) => read(each, text)).reduce(both, passes);
    case 'repeat':
    default:
      return inRounds(read(part.part, text), part, text);
  }
}

function either(one: Reading, other: Reading): Reading {
  return {
    ways: bounded(one.ways + other.ways),
    empty: bounded(one.empty + other.empty),
    reads: bounded(one.reads + other.reads),
    vain: bounded(one.vain + other.vain),
    isSure: one.isSure || other.isSure,
  };
}

function both(before: Reading, after: Reading): Reading {
  return {
    ways: bounded(before.ways * after.ways),
    empty: bounded(before.empty * after.empty),
    reads: bounded(before.reads + before.ways * after.reads),
    vain: after.isSure ? before.vain : bounded(before.reads + before.ways * after.vain),
    isSure: before.isSure && after.isSure,
  };
}

/**
 * The engine goes on after the required rounds only while a round takes something. Of several that are required the last may fail,
 * as another character is there.
 */
function inRounds(round: Reading, { least, most }: PatternRepeat, text: Text): Reading {
  const more = Math.max(0, Math.min(most === Infinity ? least : most, text.length) - least);
  const required = bounded(round.ways ** least);
  const ways = round.ways - round.empty;
  const rounds = powers(round.ways, least) + required * powers(ways, more);
  const reads = bounded(round.reads * bounded(rounds));
  const isSure = least === 0 || (least === 1 && round.isSure);
  return {
    ways: bounded(required * powers(ways, more + 1)),
    empty: least === 0 ? 1 : bounded(round.empty ** least),
    reads,
    vain: isSure ? 0 : reads,
    isSure,
  };
}

/** 1 + base + base² … with so many summands. */
function powers(base: number, summands: number): number {
  return bounded(base === 1 ? summands : (base ** summands - 1) / (base - 1));
}

/** Enough for any pattern that is slow, and nothing times it is nothing. */
function bounded(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
