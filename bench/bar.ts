import type { Line } from './measure.ts';

interface Goal {
  readonly title: string;
  readonly must: number;
  readonly aim: number;
  readonly unit: string;
  /** Whether more is better. */
  readonly more: boolean;
  readonly value: (find: Find) => number | undefined;
}

type Find = (scenario: string, subject: string) => Line | undefined;

const nodePeers = ['fastify', 'express'];

/** What the gateway has to reach, in one run on one core. */
const goals: readonly Goal[] = [
  {
    title: 'requests/s against nginx + Lua + Redis, same policy',
    must: 0.75,
    aim: 1,
    unit: '×',
    more: true,
    value: (find) => ratio(rate(find('name-64', 'gatehouse')), rate(find('name-64', 'nginx + lua + redis'))),
  },
  {
    title: 'requests/s against the best Node peer, same policy',
    must: 2.5,
    aim: 4,
    unit: '×',
    more: true,
    value: (find) => {
      const rates = nodePeers.map((name) => rate(find('name-64', name)) ?? 0);
      return ratio(rate(find('name-64', 'gatehouse')), Math.max(...rates) || undefined);
    },
  },
  {
    title: 'requests/s against bare Node + undici, no policy',
    must: 0.75,
    aim: 0.9,
    unit: '×',
    more: true,
    value: (find) => ratio(rate(find('name-64', 'gatehouse')), rate(find('name-64', 'node + undici'))),
  },
  {
    title: 'CPU per request',
    must: 60,
    aim: 42,
    unit: ' µs',
    more: false,
    value: (find) => find('name-64', 'gatehouse')?.cpuUs,
  },
  {
    title: 'p99 at half of the peak load, against bare Node + undici',
    must: 1.5,
    aim: 1.1,
    unit: '×',
    more: false,
    value: (find) => ratio(find('half-load', 'gatehouse')?.p99Ms, find('half-load', 'node + undici')?.p99Ms),
  },
  {
    title: 'refusals (401) against bare Node answering a constant',
    must: 0.5,
    aim: 0.7,
    unit: '×',
    more: true,
    value: (find) => ratio(rate(find('missing-key', 'gatehouse')), rate(find('missing-key', 'constant'))),
  },
  {
    title: '1,000,000 keys against 1,000',
    must: 0.95,
    aim: 1,
    unit: '×',
    more: true,
    value: (find) =>
      ratio(
        rate(find('keys-1000000', 'gatehouse stored keys')),
        rate(find('keys-1000', 'gatehouse stored keys')),
      ),
  },
];

const memoryGoal = { must: 150, aim: 110 } as const;

/** The bar as measured: rows of measure, value, must, aim, verdict. */
export function judge(lines: readonly Line[]): readonly (readonly string[])[] {
  const find: Find = (scenario, subject) =>
    lines.find((line) => line.scenario === scenario && line.subject.name === subject);
  const rows = goals.map((goal) => rowOf(goal, goal.value(find)));
  const peaks = lines
    .filter(
      ({ subject, scenario }) =>
        /^gatehouse(?!.*(?:cores|workers))/.test(subject.name) && scenario !== 'upload',
    )
    .map((line) => line.peakMb ?? 0);
  const memory: Goal = {
    title: 'peak resident memory, one process, any scenario but uploads',
    must: memoryGoal.must,
    aim: memoryGoal.aim,
    unit: ' MB',
    more: false,
    value: () => undefined,
  };
  return [...rows, rowOf(memory, peaks.length === 0 ? undefined : Math.max(...peaks))];
}

function rowOf({ title, must, aim, unit, more }: Goal, value: number | undefined): readonly string[] {
  const limits = [`${must}${unit}`, `${aim}${unit}`];
  if (value === undefined) return [title, 'not measured', ...limits, ''];
  const reaches = (limit: number): boolean => (more ? value >= limit : value <= limit);
  const verdict = reaches(aim) ? 'aim' : reaches(must) ? 'must' : 'missed';
  return [title, `${value.toFixed(unit === '×' ? 2 : 0)}${unit}`, ...limits, verdict];
}

function rate(line: Line | undefined): number | undefined {
  return line?.requestsPerSecond;
}

function ratio(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined || other === 0 ? undefined : one / other;
}
