import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runLoad, type Load, type Seen } from './load.ts';
import { cores } from './machine.ts';
import { cpuMs, emptyLog, peakMb, type Started } from './processes.ts';
import type { Scenario } from './scenarios.ts';
import { CannotRun } from './cannot-run.ts';
import { subjects, type Subject } from './subjects.ts';
import { closeSurroundings, openSurroundings } from './surroundings.ts';

/** How long and how often. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  /** For what warms up, without pauses: half of the load would compile half as much. Anything else gets one second. */
  readonly warmSeconds: number;
}

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
}

export interface LeftOut {
  readonly scenario: string;
  readonly subject: string;
  readonly reason: string;
}

export interface Outcome {
  readonly lines: readonly Line[];
  readonly leftOut: readonly LeftOut[];
}

export interface MeasureOptions {
  readonly names: readonly string[];
  readonly pace: Pace;
  readonly folder: string;
  readonly pauseMs?: number | undefined;
  readonly progress: (text: string) => void;
}

interface Running {
  readonly subject: Subject;
  readonly started: Started;
  readonly rounds: Round[];
}

interface Round extends Seen {
  readonly cpuMs: number;
}

/**
 * Starts the subjects of a scenario side by side and loads them in turn, round by round, so that whatever else the
 * machine does falls on all of them alike. The one that is loaded has its core to itself: the others wait for requests.
 */
export async function measure(scenario: Scenario, options: MeasureOptions): Promise<Outcome> {
  const { names, pace, progress } = options;
  const folder = join(options.folder, scenario.name);
  const around = await openSurroundings(folder, scenario.keys);
  const running: Running[] = [];
  const leftOut: LeftOut[] = [];
  try {
    for (const subject of subjects.filter(({ name }) => names.includes(name))) {
      progress(`${scenario.name}: ${subject.name} starts`);
      try {
        running.push({ subject, started: await subject.start(around), rounds: [] });
      } catch (error) {
        if (!(error instanceof CannotRun)) throw error;
        leftOut.push({ scenario: scenario.name, subject: subject.name, reason: error.message });
      }
    }
    const load = withPause(scenario.load, options.pauseMs);
    for (const { subject, started } of running) {
      progress(`${scenario.name}: ${subject.name} warms up`);
      const seconds = subject.warmsUp ? pace.warmSeconds : 1;
      await runLoad(scenario.load, { port: started.port, seconds, cores: cores.load, folder });
    }
    for (let round = 1; round <= pace.rounds; round += 1) {
      for (const one of running) {
        progress(`${scenario.name}: ${one.subject.name}, round ${round} of ${pace.rounds}`);
        one.rounds.push(await runRound(one, load, { seconds: pace.seconds, folder }));
      }
    }
    return { lines: running.map((one) => lineOf(scenario, one)), leftOut };
  } finally {
    await Promise.all(running.map(({ started }) => started.stop()));
    await closeSurroundings(around);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runRound(
  { started }: Running,
  load: Load,
  { seconds, folder }: { seconds: number; folder: string },
): Promise<Round> {
  const before = started.pid === 0 ? 0 : cpuMs(started.pid);
  const seen = await runLoad(load, { port: started.port, seconds, cores: cores.load, folder });
  const after = started.pid === 0 ? 0 : cpuMs(started.pid);
  emptyLog(started);
  return { ...seen, cpuMs: after - before };
}

function withPause(load: Load, pauseMs: number | undefined): Load {
  return pauseMs === undefined ? load : { ...load, pauseMs };
}

function lineOf(scenario: Scenario, { subject, started, rounds }: Running): Line {
  const of = (figure: (round: Round) => number): number => median(rounds.map(figure));
  const between = started.pid !== 0;
  return {
    scenario: scenario.name,
    subject,
    requestsPerSecond: of(({ requests, seconds }) => requests / seconds),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    cpuUs: between ? of(({ cpuMs: ms, requests }) => (ms * 1000) / Math.max(1, requests)) : undefined,
    peakMb: between ? peakMb(started.pid) : undefined,
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
