import type { Progress } from '../../src/upstream/exchange.ts';

/** The progress of an exchange that has not begun. */
export function noProgress(): Progress {
  return {
    sent: false,
    answered: undefined,
    cost: undefined,
    upstreamMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    cut: undefined,
    cause: undefined,
  };
}
