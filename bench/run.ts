import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawChart } from './chart.ts';
import { installPeers } from './install-peers.ts';
import { adviceFor, findProgram, here } from './machine.ts';
import { measure, type LeftOut, type Line, type Pace } from './measure.ts';
import { printLeftOut, printPage, printScenario } from './report.ts';
import { scenarios, type Scenario } from './scenarios.ts';
import { subjects } from './subjects.ts';

const help = `npm run bench -- [--quick] [--only name]… [--subject name]… [--rounds n] [--seconds n]

Measures the gateway beside its peers: same machine, same upstream, same load, same policy.

  --quick         under a minute: the name call and a refusal, few peers, nothing written
  --only name     this scenario only; can be repeated, and the beginning of a name will do
  --subject name  this subject only; can be repeated
  --rounds n      rounds for each line (5)
  --seconds n     seconds of a round (3)

Scenarios: ${scenarios.map(({ name }) => name).join(', ')}
Subjects: ${subjects.map(({ name }) => name).join(', ')}
`;

const flags = readFlags();

const pace: Pace = {
  rounds: Number(flags.rounds ?? (flags.quick ? 1 : 5)),
  seconds: Number(flags.seconds ?? (flags.quick ? 2 : 3)),
  warmSeconds: flags.quick ? 1 : 16,
};

process.exitCode = flags.help ? showHelp() : await bench();

function readFlags() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        subject: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`${error.message.split('. ')[0]} (add --help for what is understood)\n`);
    return process.exit(64);
  }
}

function showHelp(): number {
  process.stdout.write(help);
  return 0;
}

async function bench(): Promise<number> {
  const chosen = scenarios.filter((scenario) => isChosen(scenario) && namesOf(scenario).length > 0);
  const unknown = flags.subject.filter((name) => !subjects.some((subject) => subject.name === name));
  if (chosen.length === 0 || unknown.length > 0 || !(pace.rounds > 0) || !(pace.seconds > 0)) {
    process.stderr.write(help);
    return 64;
  }
  if (!isAble() || !installPeers()) return 69;
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const lines: Line[] = [];
  const leftOut: LeftOut[] = [];
  for (const scenario of chosen) {
    const names = namesOf(scenario);
    const outcome = await measure(scenario, {
      names,
      pace,
      folder,
      pauseMs: pauseOf(scenario, lines),
      progress,
    });
    progress('');
    process.stdout.write(`${printScenario(scenario.title, outcome.lines)}${printLeftOut(outcome.leftOut)}\n`);
    lines.push(...outcome.lines);
    leftOut.push(...outcome.leftOut);
  }
  if (chosen.length < scenarios.length || flags.quick || flags.subject.length > 0) {
    process.stdout.write('Only a whole run is written to bench/results.md.\n');
    return 0;
  }
  writeFileSync(join(here, 'results.md'), printPage({ lines, leftOut }, pace));
  const [first] = scenarios;
  const shown = lines.filter(({ scenario }) => scenario === first?.name);
  writeFileSync(join(here, 'results.svg'), drawChart(first?.title ?? '', shown));
  process.stdout.write('Written to bench/results.md and bench/results.svg.\n');
  return 0;
}

function isChosen({ name, quick }: Scenario): boolean {
  if (flags.only.length > 0) return flags.only.some((wanted) => isMeant(name, wanted));
  return !flags.quick || quick !== undefined;
}

/** A whole name means one scenario, even if another begins with it. */
function isMeant(name: string, wanted: string): boolean {
  return scenarios.some((scenario) => scenario.name === wanted) ? name === wanted : name.startsWith(wanted);
}

function namesOf({ subjects: all, quick }: Scenario): readonly string[] {
  const names = flags.quick && quick !== undefined ? quick : all;
  return flags.subject.length === 0 ? names : names.filter((name) => flags.subject.includes(name));
}

/** Without limits there is no peak of the full policy, so that of the gateway without quotas stands in for it. */
function pauseOf({ partOfPeak, load }: Scenario, lines: readonly Line[]): number | undefined {
  if (partOfPeak === undefined) return undefined;
  const peaks = lines.filter(({ scenario, subject }) => scenario === 'name-64' && subject.kind === 'gateway');
  const peak = peaks[0]?.requestsPerSecond ?? 10_000;
  return (load.connections * 1000) / (peak * partOfPeak);
}

function isAble(): boolean {
  const missing = ['wrk', 'taskset'].filter((name) => findProgram(name) === undefined);
  for (const name of missing) process.stderr.write(`${name} is not installed; ${adviceFor(name)}\n`);
  if (process.platform !== 'linux' || availableParallelism() < 2) {
    process.stderr.write(
      'The bench needs Linux and two cores: one for what is measured, one for the load.\n',
    );
    return false;
  }
  return missing.length === 0;
}

/** One line that is written over, where somebody watches. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
}
