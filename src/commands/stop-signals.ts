import { endedBy } from '../exit-codes.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/**
 * Resolves with the first signal that asks the process to stop. A SIGINT or SIGTERM after that ends it at once: who asks twice,
 * in whatever way, does not want to wait.
 */
export function nextStop(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false;
    const stop = (signal: StopSignal): void => {
      // A terminal that is closed often says so twice, once by its shell, and nobody there is in a hurry.
      if (asked && signal !== 'SIGHUP') process.exit(endedBy[signal]);
      asked = true;
      resolve(signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
  });
}
