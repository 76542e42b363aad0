import type { CharacterSets } from './character-sets.ts';
import { PatternTooLarge, type PatternRepeat, type PatternTree } from './pattern-tree.ts';

/** One character of a pattern, and what may come after it. */
export interface PatternState {
  /** The characters it takes; none where only a place such as `$` fits. */
  readonly takes: bigint;
  /** As it is written. */
  readonly text: string;
  /** How many ways lead to each next state. */
  readonly next: Map<PatternState, number>;
  /** Whether the search ends here, whatever follows, so that nothing is tried again. */
  ends: boolean;
}

/**
 * Which character of a pattern may be taken after which (Glushkov's automaton). A state without text comes first and takes any
 * character: a failed search starts again one further on. A count that `isEndless` is drawn as a repetition without end, any other
 * as one or two.
 */
export function drawPattern(
  tree: PatternTree,
  sets: CharacterSets,
  isEndless: (repeat: PatternRepeat) => boolean,
): readonly PatternState[] {
  return new Graph(tree, sets, isEndless).states;
}

/** The text of the place where a pattern resumes after a look. */
export const lookedFrom = '(?)';

const statesMax = 1000;
const waysMax = 100_000;
/** So many rounds are tried within milliseconds, in whatever ways: they double with each. */
const roundsMax = 16;

/** A part of a pattern that is drawn: where it begins and ends, and whether it may take nothing. */
interface Piece {
  readonly first: readonly PatternState[];
  readonly last: readonly PatternState[];
  readonly empty: boolean;
}

const nothing: Piece = { first: [], last: [], empty: true };

class Graph {
  readonly states: PatternState[] = [];
  readonly #sets: CharacterSets;
  readonly #isEndless: (repeat: PatternRepeat) => boolean;
  #ways = 0;

  constructor(tree: PatternTree, sets: CharacterSets, isEndless: (repeat: PatternRepeat) => boolean) {
    this.#sets = sets;
    this.#isEndless = isEndless;
    const start = this.#add(sets.all, '');
    const whole = this.#draw(tree);
    this.#end(whole.last);
    // The search is not part of what takes all: if it starts again, it failed.
    this.#endWhatTakesAll();
    this.#link(start.last, [...start.first, ...whole.first]);
    if (whole.empty) this.#end(start.last);
  }

  #draw(part: PatternTree): Piece {
    switch (part.kind) {
      case 'character':
        return this.#add(this.#sets.of(part.text), part.text);
      case 'place':
        return this.#add(0n, part.text);
      case 'look':
        return this.#look(part.part);
      case 'choice':
        return oneOf(part.parts.map((each) => this.#draw(each)));
      case 'sequence':
        return part.parts.reduce((piece, each) => this.#follow(piece, this.#draw(each)), nothing);
      case 'repeat':
      default:
        return this.#repeat(part);
    }
  }

  /** A look is over once it has found something; the pattern goes on at a place that may fail. */
  #look(part: PatternTree): Piece {
    const { first, last } = this.#draw(part);
    this.#end(last);
    const place = this.#add(0n, lookedFrom);
    return { ...place, first: [...first, ...place.first] };
  }

  #repeat(repeat: PatternRepeat): Piece {
    if (repeat.most === 0) return nothing;
    const piece = this.#repeatOnceOrMore(repeat);
    return repeat.least === 0 ? { ...piece, empty: true } : piece;
  }

  #repeatOnceOrMore(repeat: PatternRepeat): Piece {
    const { part, least, most } = repeat;
    const piece = this.#draw(part);
    // Nothing is nothing, however often: drawn twice at each level it would not end.
    if (most === 1 || piece.first.length === 0) return piece;
    const isEndless = this.#isEndless(repeat);
    if (most === Infinity || isEndless) {
      this.#link(piece.last, piece.first);
      // Which of the required rounds take nothing is another choice.
      if (piece.empty && least > 1) this.#link(piece.last, piece.first);
      // The last of many required rounds may fail, and those before it are tried in all their ways: `(.*a){20}`.
      return isEndless && least > roundsMax ? this.#follow(piece, this.#draw(part)) : piece;
    }
    const again = this.#draw(part);
    return this.#follow(piece, least === most ? again : { ...again, empty: true });
  }

  #follow(before: Piece, after: Piece): Piece {
    this.#link(before.last, after.first);
    return {
      first: before.empty ? [...before.first, ...after.first] : before.first,
      last: after.empty ? [...before.last, ...after.last] : after.last,
      empty: before.empty && after.empty,
    };
  }

  #add(takes: bigint, text: string): Piece {
    if (this.states.length >= statesMax) throw new PatternTooLarge();
    const added = { takes, text, next: new Map(), ends: false };
    this.states.push(added);
    return { first: [added], last: [added], empty: false };
  }

  #link(from: readonly PatternState[], to: readonly PatternState[]): void {
    this.#ways += from.length * to.length;
    if (this.#ways > waysMax) throw new PatternTooLarge();
    for (const { next } of from) for (const other of to) next.set(other, (next.get(other) ?? 0) + 1);
  }

  #end(last: readonly PatternState[]): void {
    for (const state of last) state.ends = true;
  }

  /** `[^]*$` takes whatever comes, so it never makes a search fail. */
  #endWhatTakesAll(): void {
    for (const state of this.states) {
      const isEndless = state.takes === this.#sets.all && state.next.has(state);
      if (isEndless && [...state.next.keys()].some(({ text, ends }) => text === '$' && ends))
        state.ends = true;
    }
  }
}

function oneOf(pieces: readonly Piece[]): Piece {
  return {
    first: pieces.flatMap(({ first }) => first),
    last: pieces.flatMap(({ last }) => last),
    empty: pieces.some(({ empty }) => empty),
  };
}
