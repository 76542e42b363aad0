import { endedBy } from '../exit-codes.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** npm hands on what a terminal has sent to all already. */
const echoMs = 500;

/**
 * Resolves with the first signal that asks the process to stop. A SIGINT or SIGTERM after that ends it at once: who asks twice,
 * in whatever way, does not want to wait.
 */
export function nextStop(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let first: { readonly signal: StopSignal; readonly at: number } | undefined;
    const stop = (signal: StopSignal): void => {
      const at = performance.now();
      first ??= { signal, at };
      resolve(first.signal);
      const isEcho = signal === first.signal && at - first.at < echoMs;
      // A terminal that is closed often says so twice, once by its shell, and nobody there is in a hurry.
      if (!isEcho && signal !== 'SIGHUP') process.exit(endedBy[signal]);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
  });
}
