import { endedBy, exitCodes } from '../exit-codes.ts';

/** How the process of a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Until a young worker listens, what a terminal or a supervisor tells all processes at once ends it: it serves nobody yet. */
export function wasAsked({ code, signal }: WorkerEnd): boolean {
  return code === exitCodes.ok || signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGHUP';
}

/** The first worker could not start. */
export class CannotStart extends Error {
  readonly exitCode: number;
  /** For people. Undefined where they know: a worker that ended by itself has said why, and Ctrl-C was theirs. */
  readonly reason: string | undefined;

  /** One that was too slow was killed by the process that leads it. */
  constructor({ code, signal }: WorkerEnd, wasTooSlow = false) {
    super('A worker could not start');
    // A terminal or a supervisor has ended it together with the process that leads it.
    const isShared = signal === 'SIGINT' || signal === 'SIGTERM';
    this.exitCode = code ?? (isShared ? endedBy[signal] : exitCodes.internal);
    this.reason = wasTooSlow ? 'the first worker took too long to start and was killed' : reasonOf(signal);
  }
}

function reasonOf(signal: string | null): string | undefined {
  if (signal === null || signal === 'SIGINT') return undefined;
  const doubt = signal === 'SIGKILL' ? ': is there enough memory for it?' : '';
  return `the first worker was ended by ${signal} while it started${doubt}`;
}
