import { judge, notMeasured } from './bar.ts';
import { figures, type Line } from './line.ts';
import { describeMachine, describePrograms } from './machine.ts';
import type { LeftOut, Outcome, Pace } from './measure.ts';
import { scenarios, type Scenario } from './scenarios.ts';

const head = ['', 'requests/s', 'from–to', 'p50 ms', 'p99 ms', 'CPU µs/request', 'peak MB', 'errors'];

const barHead = ['measure', 'value', 'in the rounds', 'must', 'aim', 'reached'];

/** The lines of one scenario, for a terminal. */
export function printScenario(scenario: Scenario, lines: readonly Line[]): string {
  const notes = tooSlow(scenario, lines).map((note) => `  ${note}\n`);
  return `${scenario.title}\n${printRows([head, ...lines.map(cells)])}${notes.join('')}`;
}

/** Where the load is set, who could not take it: its latency is that of full load. */
function tooSlow({ partOfPeak }: Scenario, lines: readonly Line[]): readonly string[] {
  if (partOfPeak === undefined) return [];
  const set = Math.max(...lines.map(({ requestsPerSecond }) => requestsPerSecond));
  const slow = lines.filter(({ requestsPerSecond }) => requestsPerSecond < 0.9 * set);
  return slow.map(
    ({ subject }) => `${subject.name} could not take this load: its latency is that of its peak`,
  );
}

/** What has been measured of the bar, for a terminal. */
export function printBar(lines: readonly Line[]): string {
  const measured = judge(lines).filter(([, value]) => value !== notMeasured);
  return measured.length === 0 ? '' : `${printRows([barHead, ...measured])}\n`;
}

function printRows(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? [];
  const print = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  return `${rows.map(print).join('\n')}\n`;
}

/** What is missing in a table, and why. */
export function printLeftOut(leftOut: readonly LeftOut[]): string {
  return leftOut.map(({ subject, reason }) => `  left out: ${subject}: ${reason}\n`).join('');
}

/** The page of results. */
export function printPage({ lines, leftOut }: Outcome, pace: Pace): string {
  const measured = scenarios.filter(({ name }) => lines.some((line) => line.scenario === name));
  const parts = measured.map((one) => {
    const { name, title } = one;
    const rows = lines.filter(({ scenario }) => scenario === name);
    const missing = leftOut.filter(({ scenario }) => scenario === name);
    const reasons = missing.map(({ subject, reason }) => `left out: ${subject}: ${reason}`);
    const notes = [...tooSlow(one, rows), ...reasons].map((note) => `- ${note}`);
    return [
      `## ${title}`,
      '',
      table([head, ...rows.map(cells)]),
      ...(notes.length > 0 ? ['', ...notes] : []),
    ].join('\n');
  });
  const about = new Map(lines.map(({ subject }) => [subject.name, subject.about]));
  return [
    '# Results',
    '',
    `Written by \`npm run bench -- --rounds ${pace.rounds} --seconds ${pace.seconds}\`. ${describeMachine()}. ${describePrograms()}.`,
    'What is measured has one core, load (wrk), upstream and Redis another.',
    `Medians of ${pace.rounds} rounds of ${pace.seconds} s, in turn, after ${pace.warmSeconds} s at full load for what Node compiles on its way, and ${pace.leadInSeconds} s before each round. CPU is that of`,
    'the process and its children, memory the peak of the scenario. The name call with 64 connections, that at half load, the missing key',
    `and a million keys were measured so with ${pace.starts} processes of each, one after another, since those of the same code differ by a third.`,
    'Compare lines with each other, not with other machines.',
    '',
    '![Throughput and CPU per request](results.svg)',
    '',
    '## The bar',
    '',
    table([barHead, ...judge(lines)]),
    '',
    parts.join('\n\n'),
    '',
    '## Who is who',
    '',
    table([['name', 'what it is'], ...about], 2),
    '',
  ].join('\n');
}

function cells(line: Line): string[] {
  return [
    line.subject.name,
    printRate(line.requestsPerSecond),
    printRange(line.rounds.map(figures.requestsPerSecond)),
    line.p50Ms.toFixed(2),
    line.p99Ms.toFixed(2),
    line.cpuUs === undefined ? '–' : line.cpuUs.toFixed(line.cpuUs < 1000 ? 1 : 0),
    line.peakMb === undefined ? '–' : line.peakMb.toFixed(0),
    String(line.errors),
  ];
}

function printRate(rate: number): string {
  return rate.toFixed(rate < 1000 ? 1 : 0);
}

function printRange(rates: readonly number[]): string {
  return rates.length < 2 ? '–' : `${printRate(Math.min(...rates))}–${printRate(Math.max(...rates))}`;
}

function table(rows: readonly (readonly string[])[], words = 1): string {
  const [first = [], ...rest] = rows;
  const rule = first.map((_, at) => (at < words ? '---' : '--:'));
  return [first, rule, ...rest].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
