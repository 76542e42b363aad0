import { closeSync, constants, openSync } from 'node:fs';
import { codeOf } from '../content/error-code.ts';
import { endedBy } from './exit-codes.ts';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** npm forwards what the terminal has already sent to every process. */
export const echoMs = 500;

/** What is asked of the process by its signals. */
export interface Signals {
  /** Resolves with the first that asks it to stop. */
  readonly stopAsked: Promise<StopSignal>;
  /**
   * Adds work that is done before a second signal ends the process, as there may be something left to log. What is added last is
   * done first. It must not take long.
   */
  readonly lastly: (work: (signal: StopSignal) => Promise<void>) => void;
  /**
   * Sets what a SIGHUP that asks for a reload calls; it is called at once if one came while nobody listened. To a process that is
   * to stop none comes any more.
   */
  readonly whenReload: (reload: () => void) => void;
}

/**
 * Listens for signals that ask the process to stop. A SIGINT or SIGTERM after that ends it at once: asking twice, in whatever way,
 * means not wanting to wait. A SIGHUP asks it to stop when its terminal has been closed, and to reload otherwise.
 */
export function hearSignals(hasTerminal = canOpenTerminal): Signals {
  const { promise: stopAsked, resolve } = Promise.withResolvers<StopSignal>();
  const lastWorks: ((signal: StopSignal) => Promise<void>)[] = [];
  const hadTerminal = hasTerminal();
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  let isEnding = false;
  let reload: (() => void) | undefined;
  let missedReload = false;

  function hearStop(signal: StopSignal): void {
    const at = performance.now();
    first ??= { signal, at };
    resolve(first.signal);
    const isEcho = signal === first.signal && at - first.at < echoMs;
    // A terminal that is closed often says so twice, once through its shell, and nobody there is in a hurry.
    if (!isEcho && signal !== 'SIGHUP') void end(signal);
  }

  async function end(signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    if (isEnding) return;
    isEnding = true;
    try {
      for (const work of lastWorks) await work(signal);
    } finally {
      process.exit(endedBy[signal]);
    }
  }

  function hearReload(): void {
    if (first !== undefined) return;
    if (reload === undefined) missedReload = true;
    else reload();
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => hearStop(signal));
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) hearStop('SIGHUP');
    else hearReload();
  });
  return {
    stopAsked,
    lastly: (work) => void lastWorks.unshift(work),
    whenReload(call) {
      reload = call;
      if (missedReload) hearReload();
    },
  };
}

/** A closed terminal is taken from its processes before they hear of it: there is none to open then (ENXIO). */
function canOpenTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY));
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENXIO';
  }
}
