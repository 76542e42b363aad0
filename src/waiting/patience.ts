/** For a drained process to close its parts and end: less than the 5 s that a platform is told to allow. */
export const endPatienceMs = 4500;

/** How long a process may take from being told to drain until it ends. */
export function drainPatienceMs({ delayMs, timeoutMs }: { delayMs: number; timeoutMs: number }): number {
  return delayMs + timeoutMs + endPatienceMs;
}

/** Resolves when the work is done, or when time is up. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: timeIsUp, resolve } = Promise.withResolvers<void>();
  const ending = setTimeout(resolve, ms);
  await Promise.race([work, timeIsUp]).finally(() => clearTimeout(ending));
}
