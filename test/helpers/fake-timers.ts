import type { TestContext } from 'node:test';

/** Timers by a clock that only the test moves, with the function returned. Those of `node:test` cannot be refreshed. */
export function fakeTimers(t: TestContext): (ms: number) => void {
  let now = 0;
  const due = new Map<() => void, number>();
  t.mock.method(globalThis, 'setTimeout', (over: () => void, ms: number) => {
    const timer = {
      over,
      refresh: () => void due.set(over, now + ms),
      unref: () => timer,
    };
    timer.refresh();
    return timer;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer: { over: () => void } | undefined) => {
    if (timer !== undefined) due.delete(timer.over);
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
