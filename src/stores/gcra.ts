/**
 * A rate's state: the next moment at which it is fully rested is `base + cells * intervalMs`. Counting whole cells from
 * a base keeps it exact for ever, where adding a fraction of a millisecond per request would drift.
 */
export interface RateState {
  readonly base: number;
  readonly cells: number;
  readonly intervalMs: number;
}

export interface RateAsk {
  readonly intervalMs: number;
  readonly burst: number;
  readonly want: number;
  readonly now: number;
}

interface RateStep {
  /** What was taken; 0 = too fast. */
  readonly taken: number;
  /** What could still be taken now. */
  readonly remaining: number;
  /** Until one cell is free, rounded up; 0 when cells remain. */
  readonly retryInMs: number;
  readonly state: RateState;
  /** Whether the state must be kept: also after a debt was cut, which would otherwise be cut anew at each ask and never end. */
  readonly changed: boolean;
}

/** Takes cells of a rate. `redis/lua/take-cells.lua` is the same computation, step by step. */
export function takeCells(state: RateState | undefined, { intervalMs, burst, want, now }: RateAsk): RateStep {
  let { base, cells } = settleState(state, intervalMs, now);
  // Never in debt for longer than a full burst: the clock went back, the burst was lowered, or the limit was raised.
  const cut = base + cells * intervalMs > now + burst * intervalMs;
  if (cut) {
    base = now;
    cells = burst;
  }
  const free = burst - cells + wholeIntervals(now - base, intervalMs);
  const taken = Math.min(want, Math.max(free, 0));
  cells += taken;
  const remaining = Math.max(free, 0) - taken;
  const retryInMs = remaining > 0 ? 0 : Math.ceil((cells - burst + 1) * intervalMs) - (now - base);
  return {
    taken,
    remaining,
    retryInMs: Math.ceil(retryInMs),
    state: { base, cells, intervalMs },
    changed: cut || taken > 0,
  };
}

function settleState(
  state: RateState | undefined,
  intervalMs: number,
  now: number,
): { base: number; cells: number } {
  if (state === undefined) return { base: now, cells: 0 };
  const rested = state.base + state.cells * state.intervalMs;
  if (rested <= now) return { base: now, cells: 0 };
  // The rate was edited: what was taken stays taken, at the old price.
  if (state.intervalMs !== intervalMs) return { base: rested, cells: 0 };
  return state;
}

/**
 * The greatest k with `k * intervalMs <= elapsed`. Decided by the product, as `retryInMs` is: a quotient may round the
 * other way, and a request that waited exactly as long as it was told would be refused.
 */
function wholeIntervals(elapsed: number, intervalMs: number): number {
  const guess = Math.floor(elapsed / intervalMs);
  if ((guess + 1) * intervalMs <= elapsed) return guess + 1;
  return guess * intervalMs > elapsed ? guess - 1 : guess;
}
