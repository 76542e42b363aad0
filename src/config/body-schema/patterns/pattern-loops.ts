import { lookedFrom, type PatternState } from './pattern-graph.ts';
import { PatternTooLarge } from './pattern-tree.ts';

/** A state that may be met again and again without the search coming to an end. */
export interface Loop extends Readonly<Omit<PatternState, 'next' | 'isWord'>> {
  readonly id: number;
  readonly next: { readonly state: Loop; readonly ways: number }[];
  /** States that lead to each other and back share a circle; undefined for a state that is met once. */
  circle: number | undefined;
}

/** How many steps may still be taken: then the pattern is too large to tell. */
export interface Steps {
  left: number;
}

/** The states of a graph as a search meets them, until it ends. Throws `PatternTooLarge`. */
export function loopsOf(graph: readonly PatternState[], steps: Steps): readonly Loop[] {
  return drawLoops(graph, ({ ends }) => !ends, steps);
}

/** The same, but a repetition that may end continues. */
export function loopsPastEnds(graph: readonly PatternState[], steps: Steps): readonly Loop[] {
  return drawLoops(graph, () => true, steps);
}

function drawLoops(
  graph: readonly PatternState[],
  isMet: (state: PatternState) => boolean,
  steps: Steps,
): readonly Loop[] {
  const loops = graph.map((state, id): Loop => ({ ...state, id, next: [], circle: undefined }));
  for (const [from, loop] of loops.entries()) {
    for (const [to, ways] of nextCharacters(graph, from, isMet, steps)) {
      const state = loops[to];
      if (state !== undefined) loop.next.push({ state, ways });
    }
  }
  markCircles(loops);
  return loops;
}

/** The characters that may come next, whatever word borders and looks are in between, and how many ways lead to each. */
function nextCharacters(
  graph: readonly PatternState[],
  id: number,
  isMet: (state: PatternState) => boolean,
  steps: Steps,
): ReadonlyMap<number, number> {
  const next = new Map<number, number>();
  const from = graph[id];
  if (from === undefined) return next;
  // Of the two borders only one fits between the same two characters.
  for (const border of borders) {
    const passed: Set<PatternState> = new Set([from]);
    for (const at of passed) {
      for (const [toId, ways] of at.next) {
        if (at !== from) spend(steps);
        const to = graph[toId];
        if (to === undefined || !isMet(to)) continue;
        if (to.text === lookedFrom || to.text === border) passed.add(to);
        else if (to.takes !== 0n && isBetween(border, from, to)) next.set(toId, (next.get(toId) ?? 0) + ways);
      }
    }
  }
  return next;
}

function isBetween(border: string, before: PatternState, after: PatternState): boolean {
  return (before.isWord === after.isWord) === (border === String.raw`\B`);
}

/** Tarjan's search for the parts of a graph that are strongly connected. */
function markCircles(loops: readonly Loop[]): void {
  const seen = new Map<Loop, { order: number; lowest: number }>();
  const open: Loop[] = [];
  const visit = (loop: Loop): number => {
    const mark = { order: seen.size, lowest: seen.size };
    seen.set(loop, mark);
    open.push(loop);
    for (const { state } of loop.next) {
      const known = seen.get(state);
      if (known === undefined) mark.lowest = Math.min(mark.lowest, visit(state));
      else if (open.includes(state)) mark.lowest = Math.min(mark.lowest, known.order);
    }
    if (mark.lowest === mark.order) {
      const circle = open.splice(open.indexOf(loop));
      const isCircle = circle.length > 1 || loop.next.some(({ state }) => state === loop);
      if (isCircle) for (const each of circle) each.circle = loop.id;
    }
    return mark.lowest;
  };
  for (const loop of loops) if (!seen.has(loop)) visit(loop);
}

/** The states after this one that take some of these characters too. Throws `PatternTooLarge`. */
export function* nextOf(loop: Loop, takes: bigint, steps: Steps): Generator<Loop> {
  for (const { state } of loop.next) {
    spend(steps);
    if ((state.takes & takes) !== 0n) yield state;
  }
}

/** Where two ways through a pattern may be after one more character that both of them take. Throws `PatternTooLarge`. */
export function* pairsAfter(one: Loop, other: Loop, steps: Steps): Generator<Pair> {
  for (const { state: first } of one.next) {
    for (const second of nextOf(other, first.takes, steps)) {
      yield { first, second, takes: first.takes & second.takes };
    }
  }
}

interface Pair {
  readonly first: Loop;
  readonly second: Loop;
  readonly takes: bigint;
}

function spend(steps: Steps): void {
  steps.left -= 1;
  if (steps.left < 0) throw new PatternTooLarge();
}

const borders = [String.raw`\b`, String.raw`\B`];
