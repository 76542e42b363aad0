import { setTimeout as pause } from 'node:timers/promises';

/** For a process that has drained to close its parts and end: less than the 5 s that a platform is told to have. */
export const endPatienceMs = 4500;

/** Resolves with the work, or without it when the time is over. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const ending = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: ending.signal }).catch(() => undefined)]);
  ending.abort();
}
