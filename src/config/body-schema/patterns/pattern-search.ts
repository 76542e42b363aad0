import { lookedFrom, type PatternState } from './pattern-graph.ts';
import { PatternTooLarge } from './pattern-tree.ts';

/** A state of a graph as a search meets it. */
export interface State extends Readonly<Omit<PatternState, 'next'>> {
  readonly id: number;
  readonly next: { readonly state: State; readonly ways: number }[];
  /** States that lead to each other and back share a circle; undefined for a state that is met once at most. */
  circle: number | undefined;
}

/** How many steps may still be taken: then the pattern is too large to tell. */
export interface Steps {
  left: number;
}

/**
 * The states that a search meets until it ends; with `pastEnds` also those that follow when a repetition that may end goes on.
 * Throws `PatternTooLarge`.
 */
export function statesMet(
  graph: readonly PatternState[],
  steps: Steps,
  { pastEnds = false } = {},
): readonly State[] {
  const states = new Map(
    graph.map((state, id): [PatternState, State] => [state, { ...state, id, next: [], circle: undefined }]),
  );
  for (const [from, { next }] of states) {
    for (const [to, ways] of nextCharacters(from, pastEnds, steps)) {
      const state = states.get(to);
      if (state !== undefined) next.push({ state, ways });
    }
  }
  const all = [...states.values()];
  markCircles(all);
  return all;
}

/** The characters that may come next, whatever looks are in between, and how many ways lead to each. */
function nextCharacters(
  from: PatternState,
  pastEnds: boolean,
  steps: Steps,
): ReadonlyMap<PatternState, number> {
  const next = new Map<PatternState, number>();
  const passed = new Set([from]);
  for (const at of passed) {
    for (const [to, ways] of at.next) {
      if (at !== from) spend(steps);
      if (to.ends && !pastEnds) continue;
      if (to.text === lookedFrom) passed.add(to);
      else if (to.takes !== 0n) next.set(to, (next.get(to) ?? 0) + ways);
    }
  }
  return next;
}

/** Tarjan's search for the parts of a graph that are strongly connected. */
function markCircles(states: readonly State[]): void {
  const seen = new Map<State, { order: number; lowest: number }>();
  const open: State[] = [];
  const visit = (state: State): number => {
    const mark = { order: seen.size, lowest: seen.size };
    seen.set(state, mark);
    open.push(state);
    for (const { state: next } of state.next) {
      const known = seen.get(next);
      if (known === undefined) mark.lowest = Math.min(mark.lowest, visit(next));
      else if (open.includes(next)) mark.lowest = Math.min(mark.lowest, known.order);
    }
    if (mark.lowest === mark.order) {
      const circle = open.splice(open.indexOf(state));
      const isCircle = circle.length > 1 || state.next.some(({ state: next }) => next === state);
      if (isCircle) for (const each of circle) each.circle = state.id;
    }
    return mark.lowest;
  };
  for (const state of states) if (!seen.has(state)) visit(state);
}

/** The states after this one that take some of these characters too. Throws `PatternTooLarge`. */
export function* nextOf(state: State, takes: bigint, steps: Steps): Generator<State> {
  for (const { state: next } of state.next) {
    spend(steps);
    if ((next.takes & takes) !== 0n) yield next;
  }
}

/** Where two ways through a pattern may be after one more character that both of them take. Throws `PatternTooLarge`. */
export function* pairsAfter(one: State, other: State, steps: Steps): Generator<Pair> {
  for (const { state: first } of one.next) {
    for (const second of nextOf(other, first.takes, steps)) {
      yield { first, second, takes: first.takes & second.takes };
    }
  }
}

interface Pair {
  readonly first: State;
  readonly second: State;
  readonly takes: bigint;
}

function spend(steps: Steps): void {
  steps.left -= 1;
  if (steps.left < 0) throw new PatternTooLarge();
}
