import { figures, type Figure, type Line } from './line.ts';

interface Goal {
  readonly title: string;
  readonly must: number;
  readonly aim: number;
  readonly unit: '×' | ' µs' | ' MB';
  /** Whether more is better. */
  readonly more: boolean;
}

/** What is compared with what. */
interface Comparison extends Goal {
  readonly figure: Figure;
  readonly of: Where;
  /** Without this line the load was a guess. */
  readonly needs?: Where;
  /** If several, the highest figure counts. If none, the figure itself. */
  readonly against?: readonly Where[];
}

/** The value of a row that lacks a line. */
export const notMeasured = 'not measured';

type Where = readonly [scenario: string, subject: string];
type Find = (where: Where) => Line | undefined;

/** The line that most of the bar is about. */
export const gatehouse: Where = ['name-64', 'gatehouse'];

const throughput = { unit: '×', more: true, figure: 'requestsPerSecond' } as const;

/** What the gateway has to reach, in one run on one core. */
const comparisons: readonly Comparison[] = [
  {
    ...throughput,
    title: 'requests/s against nginx + Lua + Redis, same policy',
    must: 0.75,
    aim: 1,
    of: gatehouse,
    against: [['name-64', 'nginx + lua + redis']],
  },
  {
    ...throughput,
    title: 'requests/s against the best Node peer, same policy',
    must: 2.5,
    aim: 4,
    of: gatehouse,
    against: [
      ['name-64', 'fastify'],
      ['name-64', 'express'],
    ],
  },
  {
    ...throughput,
    title: 'requests/s against bare Node + undici, no policy',
    must: 0.75,
    aim: 0.9,
    of: gatehouse,
    against: [['name-64', 'node + undici']],
  },
  {
    title: 'CPU per request',
    must: 60,
    aim: 42,
    unit: ' µs',
    more: false,
    figure: 'cpuUs',
    of: gatehouse,
  },
  {
    title: 'p99 at half of the peak load, against bare Node + undici',
    must: 1.5,
    aim: 1.1,
    unit: '×',
    more: false,
    figure: 'p99Ms',
    of: ['half-load', 'gatehouse'],
    needs: gatehouse,
    against: [['half-load', 'node + undici']],
  },
  {
    ...throughput,
    title: 'refusals (401) against bare Node answering a constant',
    must: 0.5,
    aim: 0.7,
    of: ['missing-key', 'gatehouse'],
    against: [['missing-key', 'constant']],
  },
  {
    ...throughput,
    title: '1,000,000 keys, 1,000 of them called, against 1,000',
    must: 0.95,
    aim: 1,
    of: ['keys-known', 'gatehouse stored keys'],
    against: [['keys-known', 'gatehouse 1,000 stored keys']],
  },
  {
    ...throughput,
    title: '1,000,000 keys against 1,000',
    must: 0.95,
    aim: 1,
    of: ['keys-1000000', 'gatehouse stored keys'],
    against: [['keys-1000000', 'gatehouse 1,000 stored keys']],
  },
];

const memory: Goal = {
  title: 'peak resident memory, one process, any scenario but uploads',
  must: 150,
  aim: 110,
  unit: ' MB',
  more: false,
};

/** The bar as measured: rows of measure, value, lowest and highest of the rounds, must, aim, verdict. */
export function judge(lines: readonly Line[]): readonly (readonly string[])[] {
  const find: Find = (where) => findLine(lines, where);
  return [...comparisons.map((one) => rowOf(one, ...compare(one, find))), rowOf(memory, peakOf(lines))];
}

export function findLine(lines: readonly Line[], [scenario, subject]: Where): Line | undefined {
  return lines.find((line) => line.scenario === scenario && line.subject.name === subject);
}

/** The ratio of the medians, and those of the rounds, one by one. */
function compare(
  { figure, of, against, needs }: Comparison,
  find: Find,
): [value?: number, rounds?: number[]] {
  const line = find(of);
  const other = against === undefined ? undefined : mostOf(figure, against.map(find));
  if (line === undefined || (against !== undefined && other === undefined)) return [];
  if (needs !== undefined && find(needs) === undefined) return [];
  const inRound = figures[figure];
  const rounds = line.rounds.map((round, at) => {
    const beside = other?.rounds[at];
    return inRound(round) / (beside === undefined ? 1 : inRound(beside));
  });
  return [(line[figure] ?? 0) / (other?.[figure] ?? 1), rounds];
}

function mostOf(figure: Figure, lines: readonly (Line | undefined)[]): Line | undefined {
  return lines
    .filter((line) => line !== undefined)
    .toSorted((a, b) => (b[figure] ?? 0) - (a[figure] ?? 0))[0];
}

/** Uploads may take what `limits.bodyMemory` allows, and in the last scenario the core is shared. */
const memoryAside = new Set(['upload', 'workers']);

function peakOf(lines: readonly Line[]): number | undefined {
  const peaks = lines
    .filter(({ subject: { kind }, scenario }) => kind === 'gateway' && !memoryAside.has(scenario))
    .map((line) => line.peakMb ?? 0);
  return peaks.length === 0 ? undefined : Math.max(...peaks);
}

function rowOf(
  { title, must, aim, unit, more }: Goal,
  value?: number,
  rounds: readonly number[] = [],
): readonly string[] {
  const print = (one: number): string => one.toFixed(unit === '×' ? 2 : 1);
  const limits = [`${must}${unit}`, `${aim}${unit}`];
  if (value === undefined) return [title, notMeasured, '', ...limits, ''];
  const reaches = (limit: number): boolean => (more ? value >= limit : value <= limit);
  const verdict = reaches(aim) ? 'aim' : reaches(must) ? 'must' : 'missed';
  const apart = rounds.length < 2 ? '' : `${print(Math.min(...rounds))}–${print(Math.max(...rounds))}`;
  return [title, `${print(value)}${unit}`, apart, ...limits, verdict];
}
