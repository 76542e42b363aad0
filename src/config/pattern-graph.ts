import { characterSets } from './character-sets.ts';
import { PatternTooLarge } from './pattern-tree.ts';
import type { PatternTree } from './pattern-tree.ts';

/** One character of a pattern, and what may come after it. */
export interface PatternState {
  /** The characters it takes; none where only a place such as `$` fits. */
  readonly takes: bigint;
  /** As it is written. */
  readonly text: string;
  /** How many ways lead to each next state. */
  readonly next: Map<number, number>;
  /** Whether the search ends here, whatever follows, so that nothing is tried again. */
  ends: boolean;
}

/**
 * Which character of a pattern may be taken after which (Glushkov's automaton). State 0 takes any
 * character: a search that failed begins anew one further on. A count of `longFrom` or more is taken for a repetition
 * without end, a smaller one for one or two: the ways to read a text are much the same.
 */
export function drawPattern(tree: PatternTree, longFrom: number): readonly PatternState[] {
  return new Graph(tree, longFrom).states;
}

// --- Internal ---

const statesMax = 1000;
const waysMax = 100_000;

/** A part of a pattern that is drawn: where it begins and ends, and whether it may take nothing. */
interface Piece {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

const nothing: Piece = { first: [], last: [], empty: true };

class Graph {
  readonly states: PatternState[] = [];
  readonly #longFrom: number;
  readonly #sets: ReturnType<typeof characterSets>;
  /** States after which something is still looked for, which may fail. */
  readonly #held = new Set<number>();
  #ways = 0;

  constructor(tree: PatternTree, longFrom: number) {
    this.#longFrom = longFrom;
    this.#sets = characterSets(charactersOf(tree));
    const start = this.#add(this.#sets.all, '');
    const whole = this.#draw(tree);
    this.#link(start.last, [...start.first, ...whole.first]);
    this.#end(whole.empty ? [...whole.last, ...start.last] : whole.last);
    this.#endWhatTakesAll();
  }

  #draw(part: PatternTree): Piece {
    switch (part.kind) {
      case 'character':
        return this.#add(this.#sets.of(part.text), part.text);
      case 'place':
        return this.#add(0n, part.text);
      case 'look':
        return this.#look(this.#draw(part.part));
      case 'choice':
        return oneOf(part.parts.map((each) => this.#draw(each)));
      case 'sequence':
        return this.#sequence(part.parts);
      case 'repeat':
      default:
        return this.#repeat(part);
    }
  }

  /** What is looked for is tried in all its ways until it is found once; what was taken before goes on as if it were not. */
  #look({ first, last }: Piece): Piece {
    this.#end(last);
    return { first, last: [], empty: true };
  }

  #sequence(parts: readonly PatternTree[]): Piece {
    let piece = nothing;
    for (const part of parts) {
      if (part.kind === 'look')
        for (const state of piece.empty ? [0, ...piece.last] : piece.last) this.#held.add(state);
      piece = this.#follow(piece, this.#draw(part));
    }
    return piece;
  }

  #repeat({ part, least, most }: Extract<PatternTree, { kind: 'repeat' }>): Piece {
    if (most === 0) return nothing;
    const piece = this.#repeatOnceOrMore(part, { least, most });
    return least === 0 ? { ...piece, empty: true } : piece;
  }

  #repeatOnceOrMore(part: PatternTree, { least, most }: { least: number; most: number }): Piece {
    const piece = this.#draw(part);
    const isOneLength = least === most && part.kind === 'character';
    if (most === Infinity || (most >= this.#longFrom && !isOneLength)) {
      this.#link(piece.last, piece.first);
      return piece;
    }
    if (most === 1) return piece;
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
    const state = this.states.push({ takes, text, next: new Map(), ends: false }) - 1;
    return { first: [state], last: [state], empty: false };
  }

  #link(from: readonly number[], to: readonly number[]): void {
    this.#ways += from.length * to.length;
    if (this.#ways > waysMax) throw new PatternTooLarge();
    for (const state of from) {
      const next = this.states[state]?.next;
      for (const other of to) next?.set(other, (next.get(other) ?? 0) + 1);
    }
  }

  #end(last: readonly number[]): void {
    for (const at of last) {
      const state = this.states[at];
      if (state !== undefined && !this.#held.has(at)) state.ends = true;
    }
  }

  /** `[^]*$` takes whatever comes, so it never has a search fail. */
  #endWhatTakesAll(): void {
    const closes = (at: number): boolean => this.states[at]?.text === '$' && this.states[at].ends;
    for (const [at, state] of this.states.entries()) {
      if (state.takes === this.#sets.all && state.next.has(at) && [...state.next.keys()].some(closes))
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

function charactersOf(part: PatternTree): readonly string[] {
  if (part.kind === 'character') return [part.text];
  if (part.kind === 'place') return [];
  return ('parts' in part ? part.parts : [part.part]).flatMap(charactersOf);
}
