import { setTimeout as pause } from 'node:timers/promises';

/** For a drained process to close its parts and end: less than the 5 s that a platform is told to allow. */
export const endPatienceMs = 4500;

/** Resolves when the work is done, or when time is up. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const ending = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: ending.signal }).catch(() => undefined)]);
  ending.abort();
}
