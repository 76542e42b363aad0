import { closeSync, constants, openSync } from 'node:fs';
import { codeOf } from '../content/error-code.ts';
import { endedBy } from './exit-codes.ts';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** npm forwards what the terminal has already sent to every process. */
export const echoMs = 500;

export interface Stop {
  /** Resolves with the first signal that asks the process to stop. */
  readonly asked: Promise<StopSignal>;
  /** Sets what is awaited before a second signal ends the process: there may be something left to say. It must not take long. */
  readonly lastly: (work: () => Promise<void>) => void;
  /** Sets what a SIGHUP that asks for a reload calls; it is called at once if one came while nobody listened. */
  readonly whenReload: (reload: () => void) => void;
}

/**
 * Listens for signals that ask the process to stop. A SIGINT or SIGTERM after that ends it at once: asking twice, in whatever way,
 * means not wanting to wait. A SIGHUP asks it to stop when its terminal has been closed, and to reload otherwise.
 */
export function nextStop(hasTerminal = canOpenTerminal): Stop {
  const { promise: asked, resolve } = Promise.withResolvers<StopSignal>();
  let wasMissed = false;
  let reload = (): void => void (wasMissed = true);
  let last = nothingLeft;
  const hadTerminal = hasTerminal();
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  const hear = (signal: StopSignal): void => {
    const at = performance.now();
    first ??= { signal, at };
    resolve(first.signal);
    const isEcho = signal === first.signal && at - first.at < echoMs;
    // A terminal that is closed often says so twice, once through its shell, and nobody there is in a hurry.
    if (!isEcho && signal !== 'SIGHUP') void last().finally(() => process.exit(endedBy[signal]));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => hear(signal));
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) hear('SIGHUP');
    else reload();
  });
  return {
    asked,
    lastly(work) {
      last = work;
    },
    whenReload(call) {
      reload = call;
      if (wasMissed) reload();
      wasMissed = false;
    },
  };
}

async function nothingLeft(): Promise<void> {}

/** A closed terminal is taken from its processes before they hear of it: there is none to open then (ENXIO). */
function canOpenTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY));
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENXIO';
  }
}
