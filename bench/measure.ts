import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runLoad, type Load, type Seen } from './load.ts';
import { cores } from './machine.ts';
import { cpuMs, emptyLog, peakMb, type Started } from './processes.ts';
import type { Scenario } from './scenarios.ts';
import { CannotRun } from './cannot-run.ts';
import { subjects, type Subject } from './subjects.ts';
import { closeSurroundings, openSurroundings, type Surroundings } from './surroundings.ts';

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

/** What is known of one subject of a scenario. */
interface Measured {
  readonly subject: Subject;
  readonly rounds: Round[];
  peakMb: number | undefined;
}

interface Round extends Seen {
  readonly cpuMs: number;
}

interface Running {
  readonly measured: Measured;
  readonly started: Started;
}

/**
 * Starts the subjects of a scenario side by side and loads them in turn, round by round, so that whatever else the
 * machine does falls on all of them alike. The one that is loaded has its core to itself: the others wait for requests.
 */
export async function measure(scenario: Scenario, options: MeasureOptions): Promise<Outcome> {
  const { names, pace } = options;
  const folder = join(options.folder, scenario.name);
  const around = await openSurroundings(folder, scenario.keys);
  const chosen = subjects.filter(({ name }) => names.includes(name));
  const all = chosen.map((subject): Measured => ({ subject, rounds: [], peakMb: undefined }));
  const leftOut = new Map<Subject, LeftOut>();
  const able = (): readonly Measured[] => all.filter(({ subject }) => !leftOut.has(subject));
  const [starts, rounds] = scenario.startsAnew === true ? [pace.rounds, 1] : [1, pace.rounds];
  try {
    for (let start = 1; start <= starts; start += 1) {
      await runOnce(scenario, able(), { ...options, around, folder, rounds, leftOut });
    }
    return { lines: able().map((one) => lineOf(scenario, one)), leftOut: [...leftOut.values()] };
  } finally {
    await closeSurroundings(around);
    rmSync(folder, { recursive: true, force: true });
  }
}

interface RunOptions extends MeasureOptions {
  readonly around: Surroundings;
  /** With one process of each. */
  readonly rounds: number;
  readonly leftOut: Map<Subject, LeftOut>;
}

/** Starts one process of each subject, warms it up, runs the rounds and stops it. */
async function runOnce(scenario: Scenario, all: readonly Measured[], options: RunOptions): Promise<void> {
  const { pace, progress, around, folder, rounds, leftOut } = options;
  const running: Running[] = [];
  try {
    for (const measured of all) {
      const { subject } = measured;
      progress(`${scenario.name}: ${subject.name} starts`);
      try {
        running.push({ measured, started: await subject.start(around) });
      } catch (error) {
        if (!(error instanceof CannotRun)) throw error;
        leftOut.set(subject, { scenario: scenario.name, subject: subject.name, reason: error.message });
      }
    }
    const load = withPause(scenario.load, options.pauseMs);
    for (const { measured, started } of running) {
      progress(`${scenario.name}: ${measured.subject.name} warms up`);
      const seconds = measured.subject.warmsUp ? pace.warmSeconds : 1;
      await runLoad(scenario.load, { port: started.port, seconds, cores: cores.load, folder });
    }
    for (let round = 1; round <= rounds; round += 1) {
      for (const { measured, started } of running) {
        progress(
          `${scenario.name}: ${measured.subject.name}, round ${measured.rounds.length + 1} of ${pace.rounds}`,
        );
        measured.rounds.push(await runRound(started, load, { seconds: pace.seconds, folder }));
      }
    }
    for (const { measured, started } of running) {
      if (isBetween(started)) measured.peakMb = Math.max(measured.peakMb ?? 0, peakMb(started.pid));
    }
  } finally {
    await Promise.all(running.map(({ started }) => started.stop()));
  }
}

/** Whether it stands between load and upstream. */
function isBetween({ pid }: Started): boolean {
  return pid !== 0;
}

async function runRound(
  started: Started,
  load: Load,
  { seconds, folder }: { seconds: number; folder: string },
): Promise<Round> {
  const before = isBetween(started) ? cpuMs(started.pid) : 0;
  const seen = await runLoad(load, { port: started.port, seconds, cores: cores.load, folder });
  const after = isBetween(started) ? cpuMs(started.pid) : 0;
  emptyLog(started);
  return { ...seen, cpuMs: after - before };
}

function withPause(load: Load, pauseMs: number | undefined): Load {
  return pauseMs === undefined ? load : { ...load, pauseMs };
}

function lineOf(scenario: Scenario, { subject, rounds, peakMb: peak }: Measured): Line {
  const of = (figure: (round: Round) => number): number => median(rounds.map(figure));
  return {
    scenario: scenario.name,
    subject,
    requestsPerSecond: of(({ requests, seconds }) => requests / seconds),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    cpuUs: peak && of(({ cpuMs: ms, requests }) => (ms * 1000) / Math.max(1, requests)),
    peakMb: peak,
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
