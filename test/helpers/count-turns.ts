import type { Scene } from './poll.ts';

/** Tells how many turns the event loop has made. */
export function countTurns(t: Scene): () => number {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns += 1;
    next = setImmediate(turn);
  });
  t.after(() => clearImmediate(next));
  return () => turns;
}
