import { setTimeout as pause } from 'node:timers/promises';

/** For a process that has drained to close its parts and end. */
export const endPatienceMs = 5000;

/** Resolves with the work, or without it when the time is over. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const ending = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: ending.signal }).catch(() => undefined)]);
  ending.abort();
}
