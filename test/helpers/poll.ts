import { setTimeout as pause } from 'node:timers/promises';

/** Where a helper leaves what has to be undone: a test context, or `{ after }` of node:test for a whole file. */
export interface Scene {
  after(undo: () => void | Promise<void>): void;
}

/** From one look to the next: a tenth of what has been waited already, because a look may be a request and is not free. */
const pauseMs = { first: 5, longest: 50 };

/**
 * Asks until the condition holds and returns what it answered; fails when it does not hold within the time (ms), which is long:
 * a slow machine is no failure. Shorter is only what would come true later by another way.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { within = 60_000, what = condition.toString() }: { within?: number; what?: string } = {},
): Promise<NonNullable<T>> {
  const start = performance.now();
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    const waited = performance.now() - start;
    if (waited > within) throw new Error(`not within ${within} ms: ${what}`);
    await pause(Math.min(Math.max(waited / 10, pauseMs.first), pauseMs.longest));
  }
}
