import type { Clock } from '../../src/waiting/clock.ts';

export interface TurnableClock extends Clock {
  /** Lets time pass for both clocks, timers on the way included, and lets promises settle around each of them. */
  pass(ms: number): Promise<void>;
  /** Sets the wall clock forward or back without time passing. */
  jump(ms: number): void;
  /** Timers that are set. */
  readonly timers: number;
}

/** Clocks and timers that stand still until a test turns them. */
export function createTurnableClock(start = Date.UTC(2026, 4, 5, 12)): TurnableClock {
  let mono = 1000;
  let offset = start - mono;
  const timers = new Map<() => void, number>();
  return {
    wall: () => mono + offset,
    mono: () => mono,
    after(delayMs, callback) {
      const timer = (): void => callback();
      timers.set(timer, mono + delayMs);
      return () => timers.delete(timer);
    },
    whenAllIsRead: (callback) => callback(),
    async pass(ms) {
      const end = mono + ms;
      for (;;) {
        await settle();
        const next = [...timers].filter(([, at]) => at <= end).toSorted((a, b) => a[1] - b[1])[0];
        if (next === undefined) break;
        timers.delete(next[0]);
        mono = Math.max(mono, next[1]);
        next[0]();
      }
      mono = end;
      await settle();
    },
    jump(ms) {
      offset += ms;
    },
    get timers() {
      return timers.size;
    },
  };
}

/** Lets everything that is ready to run, run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
