import type { TestContext } from 'node:test';

const real = { setTimeout, clearTimeout };

/** Timers by a clock that only the test moves, with the function returned. Those of `node:test` cannot be refreshed. */
export function fakeTimers(t: TestContext): (ms: number) => void {
  let now = 0;
  const due = new Map<() => void, number>();
  // Mocks of `node:test` are undone in the order in which they were made: of two the first would stay.
  t.after(() => void Object.assign(globalThis, real));
  Object.assign(globalThis, {
    setTimeout(over: () => void, ms: number) {
      const timer = { over, refresh: () => void due.set(over, now + ms), unref: () => timer };
      timer.refresh();
      return timer;
    },
    clearTimeout: (timer: { over: () => void } | undefined) => timer && due.delete(timer.over),
  });
  return (ms) => {
    now += ms;
    for (const [over, at] of due) {
      if (at > now) continue;
      due.delete(over);
      over();
    }
  };
}
