import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { lineOf, type Line, type Round } from './line.ts';
import { checkAnswers, runLoad, type Load, type Seen } from './load.ts';
import { cores } from './machine.ts';
import { cpuMs, emptyLog, peakMb, type Started } from './processes.ts';
import type { Progress } from './progress.ts';
import { keysOf, type Scenario } from './scenarios.ts';
import { subjects, type Subject } from './subjects.ts';
import { closeSurroundings, openSurroundings, type Surroundings } from './surroundings.ts';

/** Until Node has compiled what is hot. After eight seconds the gateway ran at two thirds of its pace, a bare proxy at its full. */
export const warmSeconds = 16;

/** How long and how often. Many short rounds tell more than few long ones where a machine changes its speed within seconds. */
export interface Pace {
  /** Processes of each subject, one after another, in scenarios that ask for several. */
  readonly starts: number;
  /** With one process of each. */
  readonly rounds: number;
  readonly seconds: number;
  /** For what warms up, at full load. */
  readonly warmSeconds: number;
  /** Before each round: what has waited for its turn has cooled down. At the pace of the round. */
  readonly leadInSeconds: number;
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

interface MeasureOptions {
  readonly names: readonly string[];
  readonly pace: Pace;
  readonly folder: string;
  /** For less than full load. */
  readonly requestsPerSecond: number | undefined;
  readonly progress: Progress;
}

/** How long a scenario takes, in seconds. */
export function secondsOf(scenario: Scenario, names: readonly string[], pace: Pace): number {
  const warm = subjects.filter(({ name, warmsUp }) => warmsUp && names.includes(name)).length;
  const rounds = names.length * pace.rounds * (pace.leadInSeconds + pace.seconds + aroundSeconds);
  const start = names.length * startSeconds + warm * pace.warmSeconds + rounds;
  return startsOf(scenario, pace) * start + keysOf(scenario) * secondsPerKey;
}

function startsOf({ startsAnew }: Scenario, { starts }: Pace): number {
  return startsAnew === true ? starts : 1;
}

/** About. */
const startSeconds = 1;
const aroundSeconds = 0.3;
const secondsPerKey = 60e-6;

/** What is known of one subject of a scenario. */
interface Measured {
  readonly subject: Subject;
  readonly rounds: Round[];
  peakMb: number | undefined;
}

interface Running {
  readonly measured: Measured;
  readonly started: Started;
  isWarm: boolean;
}

/**
 * Starts the subjects of a scenario side by side and loads them in turn, round by round, so that whatever else the machine does
 * falls on all of them alike. The one that is loaded has its core to itself: the others wait for requests.
 */
export async function measure(scenario: Scenario, options: MeasureOptions): Promise<Outcome> {
  const { names, pace } = options;
  const folder = join(options.folder, scenario.name);
  const around = await openSurroundings(folder, keysOf(scenario));
  const chosen = subjects.filter(({ name }) => names.includes(name));
  const all = chosen.map((subject): Measured => ({ subject, rounds: [], peakMb: undefined }));
  const leftOut = new Map<Subject, LeftOut>();
  const able = (): Measured[] => all.filter(({ subject }) => !leftOut.has(subject));
  try {
    for (let start = 0; start < startsOf(scenario, pace); start += 1) {
      await runOnce(scenario, inTurn(able(), start), { ...options, around, folder, leftOut });
    }
    return { lines: able().map((one) => lineOf(scenario.name, one)), leftOut: [...leftOut.values()] };
  } finally {
    await closeSurroundings(around);
    rmSync(folder, { recursive: true, force: true });
  }
}

interface RunOptions extends MeasureOptions {
  readonly around: Surroundings;
  readonly leftOut: Map<Subject, LeftOut>;
}

/** Starts one process of each subject, runs the rounds and stops it. */
async function runOnce(scenario: Scenario, all: readonly Measured[], options: RunOptions): Promise<void> {
  const { pace, progress, around, leftOut } = options;
  const running: Running[] = [];
  /** What cannot run is left out with its reason, and the rest is measured all the same. */
  async function attempt(subject: Subject, work: () => Promise<void>): Promise<void> {
    try {
      if (!leftOut.has(subject)) await work();
    } catch (error) {
      if (!(error instanceof CannotRun)) throw error;
      leftOut.set(subject, { scenario: scenario.name, subject: subject.name, reason: error.message });
    }
  }
  try {
    for (const measured of all) {
      const { subject } = measured;
      progress(`${scenario.name}: ${subject.name} starts`);
      await attempt(subject, async () => {
        running.push({ measured, started: await subject.start(around), isWarm: !subject.warmsUp });
      });
    }
    for (let round = 0; round < pace.rounds; round += 1) {
      for (const one of inTurn(running, round)) {
        await attempt(one.measured.subject, () => runRound(scenario, one, options));
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

/**
 * Warms one subject up and measures it at once: when idle, Node's collector forgets what was learnt under load, so a subject that
 * had waited for its turn would be measured while it learns again.
 */
async function runRound(scenario: Scenario, one: Running, options: RunOptions): Promise<void> {
  const { measured, started } = one;
  const { pace, progress, requestsPerSecond } = options;
  const load = loadOf(scenario, measured.subject);
  const what = `${scenario.name}: ${measured.subject.name}`;
  if (!one.isWarm) {
    progress(`${what} warms up`);
    await runOn(started, load, pace.warmSeconds, options);
    one.isWarm = true;
  }
  progress(`${what}, round ${measured.rounds.length + 1} of ${startsOf(scenario, pace) * pace.rounds}`);
  const leadIn = (paced: Load): Promise<Seen> => runOn(started, paced, pace.leadInSeconds, options);
  const paced = await findPace(load, requestsPerSecond, leadIn);
  await checkAnswers(load, started.port);
  const before = isBetween(started) ? cpuMs(started.pid) : 0;
  const seen = await runOn(started, paced, pace.seconds, options);
  const after = isBetween(started) ? cpuMs(started.pid) : 0;
  if (seen.requests === 0) throw new CannotRun(`it answered nothing in ${pace.seconds} s`);
  measured.rounds.push({ ...seen, cpuMs: after - before });
}

function loadOf({ load }: Scenario, { keys }: Subject): Load {
  return keys === undefined ? load : { ...load, keysAtRandom: keys };
}

async function runOn(
  started: Started,
  load: Load,
  seconds: number,
  { folder }: Pick<MeasureOptions, 'folder'>,
): Promise<Seen> {
  const where = { port: started.port, seconds, cores: cores.load, folder };
  const seen = await runLoad(load, where).catch((error: unknown) => {
    checkLives(started);
    throw error;
  });
  checkLives(started);
  emptyLog(started);
  return seen;
}

function checkLives(started: Started): void {
  const end = started.end();
  if (end !== undefined) throw new CannotRun(`it ended under load: ${end}`);
}

/** The load with the pauses that bring it to this many requests per second, found in the lead-in. */
async function findPace(
  load: Load,
  requestsPerSecond: number | undefined,
  leadIn: (load: Load) => Promise<Seen>,
): Promise<Load> {
  if (requestsPerSecond === undefined) {
    await leadIn(load);
    return load;
  }
  const everyMs = (load.connections * 1000) / requestsPerSecond;
  const { requests, seconds } = await leadIn({ ...load, pauseMs: everyMs });
  // The rest was the answer.
  const tookMs = (load.connections * 1000 * seconds) / Math.max(1, requests) - everyMs;
  return { ...load, pauseMs: Math.max(0, everyMs - tookMs) };
}

/** So that no subject always comes after the same other one: each order is followed by its reverse, and that by another. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = Math.floor(round / 2) % Math.max(1, all.length);
  const turned = [...all.slice(first), ...all.slice(0, first)];
  return round % 2 === 0 ? turned : turned.toReversed();
}
