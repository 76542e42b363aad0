import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findLine, gatehouse } from './bar.ts';
import { beginRun } from './begin-run.ts';
import { CannotRun, orUnavailable } from './cannot-run.ts';
import { drawChart } from './chart.ts';
import { countOf, orUsage, showHelp } from './flags.ts';
import { installPeers } from './install-peers.ts';
import type { Line } from './line.ts';
import { here, need } from './machine.ts';
import { measure, secondsOf, warmSeconds, type LeftOut, type Pace } from './measure.ts';
import { createProgress } from './progress.ts';
import { printBar, printLeftOut, printPage, printScenario } from './report.ts';
import { scenarios, type Scenario } from './scenarios.ts';
import { subjects } from './subjects.ts';

const help = `npm run bench -- [--quick] [--only name]… [--subject name]… [--rounds n] [--seconds n]

Measures the gateway beside its peers: same machine, same upstream, same load, same policy.

  --quick         under a minute: the name call and a refusal, few peers, nothing written
  --only name     this scenario only; can be repeated, and the beginning of a name will do
  --subject name  this subject only; can be repeated
  --rounds n      rounds with each process (4)
  --seconds n     seconds of a round (2)

Scenarios: ${scenarios.map(({ name }) => name).join(', ')}
Subjects: ${subjects.map(({ name }) => name).join(', ')}
`;

const coldNote =
  'Node had not quite finished compiling: these figures are a little low for all that runs on it.\n';

/** The assumed peak of the gateway, if it was not measured. */
const peakAssumed = 10_000;

const results = join(here, 'results.md');
const chart = join(here, 'results.svg');

const flags = readFlags();
const progress = createProgress(process.stderr);

const pace: Pace = {
  starts: flags.quick ? 1 : 2,
  rounds: flags.rounds ?? (flags.quick ? 1 : 4),
  seconds: flags.seconds ?? 2,
  warmSeconds: flags.quick ? 6 : warmSeconds,
  leadInSeconds: 1,
};

process.exitCode = flags.help ? showHelp(help) : await orUnavailable(bench);

function readFlags() {
  return orUsage(() => {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        subject: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const unknown = [
      ...values.only.filter((wanted) => !scenarios.some((one) => isMeant(one.name, wanted))),
      ...values.subject.filter((wanted) => !subjects.some(({ name }) => name === wanted)),
    ];
    if (unknown.length > 0)
      throw new Error(`There is no ${unknown.map((name) => `"${name}"`).join(', no ')} here`);
    return {
      ...values,
      rounds: countOf('rounds', values.rounds),
      seconds: countOf('seconds', values.seconds),
    };
  });
}

async function bench(): Promise<number> {
  const chosen = scenarios.filter((scenario) => isChosen(scenario) && namesOf(scenario).length > 0);
  if (chosen.length === 0) {
    process.stderr.write('Nothing to measure: none of these scenarios has such a subject.\n');
    return 64;
  }
  const isWhole = chosen.length === scenarios.length && !flags.quick && flags.subject.length === 0;
  if (isWhole) need('redis-server'); // most of the page would be missing, which is no use of an hour
  const folder = await beginRun(isWhole ? [results, chart] : []);
  await installPeers();
  const lines: Line[] = [];
  const leftOut: LeftOut[] = [];
  for (const [at, scenario] of chosen.entries()) {
    const since = performance.now();
    const requestsPerSecond = paceOf(scenario, lines);
    const outcome = await measure(scenario, {
      names: namesOf(scenario),
      pace,
      folder,
      requestsPerSecond,
      progress: (text) => {
        const left = timeLeft(chosen.slice(at), (performance.now() - since) / 1000);
        progress(`${at + 1} of ${chosen.length}, ${left} left: ${text}`);
      },
    });
    progress('');
    process.stdout.write(`${printScenario(scenario, outcome.lines)}${printLeftOut(outcome.leftOut)}\n`);
    lines.push(...outcome.lines);
    leftOut.push(...outcome.leftOut);
  }
  process.stdout.write(printBar(lines));
  if (lines.length === 0) throw new CannotRun('Nothing could be measured.');
  if (!isWhole) {
    if (flags.quick) process.stdout.write(coldNote);
    process.stdout.write('Only a whole run is written to bench/results.md.\n');
    return 0;
  }
  if (findLine(lines, gatehouse) === undefined) {
    process.stderr.write('The gateway itself was left out, so nothing is written to bench/results.md.\n');
    return 70;
  }
  writeFileSync(results, printPage({ lines, leftOut }, pace));
  const [first] = scenarios;
  const shown = lines.filter(({ scenario }) => scenario === first?.name);
  writeFileSync(chart, drawChart(first?.title ?? '', shown));
  process.stdout.write('Written to bench/results.md and bench/results.svg.\n');
  return 0;
}

function isChosen({ name, quick }: Scenario): boolean {
  if (flags.only.length > 0) return flags.only.some((wanted) => isMeant(name, wanted));
  return !flags.quick || quick !== undefined;
}

/** A whole name means one scenario, even if another begins with it. */
function isMeant(name: string, wanted: string): boolean {
  if (wanted === '' || scenarios.some((scenario) => scenario.name === wanted)) return name === wanted;
  return name.startsWith(wanted);
}

function namesOf({ subjects: all, quick }: Scenario): readonly string[] {
  if (flags.subject.length > 0) return all.filter((name) => flags.subject.includes(name));
  return flags.quick && quick !== undefined ? quick : all;
}

/** Requests per second; undefined for as many as it can take. */
function paceOf({ partOfPeak }: Scenario, lines: readonly Line[]): number | undefined {
  if (partOfPeak === undefined) return undefined;
  const line = findLine(lines, gatehouse);
  if (line === undefined) {
    process.stdout.write(
      `The peak of the gateway (name-64) was not measured; it is taken to be ${peakAssumed}/s.\n`,
    );
  }
  return (line?.requestsPerSecond ?? peakAssumed) * partOfPeak;
}

/** How long the scenarios take, of which the first has been under way for some seconds. */
function timeLeft(left: readonly Scenario[], passedSeconds: number): string {
  const [present = 0, ...later] = left.map((one) => secondsOf(one, namesOf(one), pace));
  const seconds = later.reduce((sum, one) => sum + one, Math.max(0, present - passedSeconds));
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
