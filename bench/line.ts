import type { Seen } from './load.ts';
import type { Subject } from './subjects.ts';

/** One line of the results: the median of its rounds. */
export interface Line {
  readonly scenario: string;
  readonly subject: Subject;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Undefined where nothing stands between load and upstream. */
  readonly cpuUs: number | undefined;
  readonly peakMb: number | undefined;
  /** In all rounds together. */
  readonly errors: number;
  /** In order, to show how far apart they are. */
  readonly rounds: readonly Round[];
}

export interface Round extends Seen {
  readonly cpuMs: number;
}

/** What is compared of a round. */
export const figures = {
  requestsPerSecond: ({ requests, seconds }) => requests / seconds,
  p50Ms: ({ p50Ms }) => p50Ms,
  p99Ms: ({ p99Ms }) => p99Ms,
  cpuUs: ({ cpuMs, requests }) => (cpuMs * 1000) / Math.max(1, requests),
} as const satisfies Readonly<Record<string, (round: Round) => number>>;

export type Figure = keyof typeof figures;

/** The median of the rounds of one subject. */
export function lineOf(
  scenario: string,
  { subject, rounds, peakMb }: Pick<Line, 'subject' | 'rounds' | 'peakMb'>,
): Line {
  const of = (figure: Figure): number => median(rounds.map(figures[figure]));
  return {
    scenario,
    subject,
    requestsPerSecond: of('requestsPerSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    cpuUs: peakMb === undefined ? undefined : of('cpuUs'),
    peakMb,
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
    rounds,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
