import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, notMeasured } from '../../../bench/bar.ts';
import { lineOf, type Round } from '../../../bench/line.ts';
import { readSeen, type Request } from '../../../bench/load.ts';
import { secondsOf } from '../../../bench/measure.ts';
import { printBar, printScenario } from '../../../bench/report.ts';
import { scenarios } from '../../../bench/scenarios.ts';
import { subjects } from '../../../bench/subjects.ts';

function request(status: number): Request {
  return { method: 'GET', path: '/', headers: {}, status };
}

function round(over: Partial<Round>): Round {
  return { requests: 3000, seconds: 3, p50Ms: 1, p99Ms: 2, errors: 0, cpuMs: 90, ...over };
}

function line(scenario: string, name: string, rounds: readonly Round[], peakMb = 100) {
  const subject = subjects.find((one) => one.name === name);
  assert.ok(subject);
  return lineOf(scenario, { subject, rounds, peakMb });
}

test('every scenario is measured with subjects that there are', () => {
  const known = new Set(subjects.map(({ name }) => name));
  for (const scenario of scenarios) {
    for (const name of scenario.subjects) assert.ok(known.has(name), `${scenario.name}: ${name}`);
  }
});

test('answers of another kind than the load wants are errors', () => {
  const counts = { requests: 1000, us: 2e6, p50: 1500, p99: 9000, broken: 3 };
  const seen = (statuses: readonly number[], refused: number, connections = 8) =>
    readSeen({ connections, requests: statuses.map(request) }, { ...counts, refused });
  assert.deepEqual(seen([200], 0), { requests: 1000, seconds: 2, p50Ms: 1.5, p99Ms: 9, errors: 3 });
  assert.equal(seen([200], 7).errors, 10, 'refused though it should not be');
  assert.equal(seen([401], 1000).errors, 3);
  assert.equal(seen([401], 990).errors, 13, 'let through though it should not be');
  const mix = [200, 200, 200, 401];
  assert.equal(seen(mix, 245).errors, 3, 'the end of a load cuts a mix anywhere');
  assert.equal(seen(mix, 240).errors, 13, 'but at most one request of each connection');
  assert.equal(seen(mix, 210, 64).errors, 3, 'however few there were');
  assert.equal(seen(mix, 400).errors, 153);
});

test('a line tells the median of its rounds', () => {
  const rounds = [round({ requests: 900 }), round({ requests: 3000 }), round({ requests: 1200, cpuMs: 60 })];
  const { requestsPerSecond, cpuUs, errors } = line('name-64', 'gatehouse', rounds);
  assert.deepEqual({ requestsPerSecond, cpuUs, errors }, { requestsPerSecond: 400, cpuUs: 50, errors: 0 });
});

test('the bar compares medians, tells how far the rounds lie apart, and takes the best of the peers', () => {
  const lines = [
    line('name-64', 'gatehouse', [round({ requests: 6000 }), round({ requests: 5400 })]),
    line('name-64', 'fastify', [round({ requests: 1500 }), round({ requests: 1500 })]),
    line('name-64', 'express', [round({ requests: 2000 }), round({ requests: 1800 })]),
    line('keys-1000000', 'gatehouse stored keys', [round({}), round({})], 150.3),
    line('upload', 'gatehouse uploads', [round({}), round({})], 400),
  ];
  const rows = new Map(judge(lines).map(([title = '', ...cells]) => [title, cells]));
  assert.deepEqual(rows.get('requests/s against the best Node peer, same policy'), [
    '3.00×',
    '3.00–3.00',
    '2.5×',
    '4×',
    'must',
  ]);
  assert.deepEqual(rows.get('CPU per request'), ['15.8 µs', '15.0–16.7', '60 µs', '42 µs', 'aim']);
  assert.deepEqual(rows.get('requests/s against bare Node + undici, no policy')?.slice(0, 1), [
    'not measured',
  ]);
  const memory = rows.get('peak resident memory, one process, any scenario but uploads');
  assert.deepEqual(memory, ['150.3 MB', '', '150 MB', '110 MB', 'missed'], 'uploads aside');
});

test('a whole run measures every row of the bar', () => {
  const lines = scenarios.flatMap(({ name, subjects: names }) =>
    names.map((each) => line(name, each, [round({})])),
  );
  for (const [title = '', value] of judge(lines)) assert.notEqual(value, notMeasured, title);
});

test('a terminal is told of the bar only what was measured', () => {
  const printed = printBar([line('missing-key', 'gatehouse', [round({})])]);
  assert.doesNotMatch(printed, /not measured/);
  assert.match(printed, /^peak resident memory.* 100\.0 MB .*aim$/m);
  assert.equal(printBar([]), '', 'nothing of it');
});

function latencyAtHalfLoad(lines: Parameters<typeof judge>[0]): string | undefined {
  return judge(lines).find(([title = '']) => title.startsWith('p99'))?.[1];
}

test('latency at half of a peak that nobody measured is not judged', () => {
  const half = [line('half-load', 'gatehouse', [round({})]), line('half-load', 'node + undici', [round({})])];
  assert.equal(latencyAtHalfLoad(half), 'not measured');
  assert.equal(latencyAtHalfLoad([...half, line('name-64', 'gatehouse', [round({})])]), '1.00×');
});

function tooSlowIn(name: string): readonly string[] {
  const scenario = scenarios.find((one) => one.name === name);
  assert.ok(scenario);
  const lines = [
    line(name, 'gatehouse', [round({ requests: 3000 })]),
    line(name, 'fastify', [round({ requests: 2960 })]),
    line(name, 'express', [round({ requests: 2000 })]),
  ];
  return printScenario(scenario, lines).match(/\w+ could not take .*/g) ?? [];
}

test('who cannot take a load that is set is named, and at full load nobody is', () => {
  assert.deepEqual(tooSlowIn('half-load'), [
    'express could not take this load: its latency is that of its peak',
  ]);
  assert.deepEqual(tooSlowIn('name-64'), []);
});

test('a long title makes the table of a terminal no wider', () => {
  const half = scenarios.find(({ name }) => name === 'half-load');
  assert.ok(half);
  const [title, ...rows] = printScenario(half, [line(half.name, 'fastify', [round({})])])
    .trimEnd()
    .split('\n');
  assert.equal(title, half.title);
  assert.ok(rows.every((row) => row.length <= 80));
});

test('how long a scenario takes is known before', () => {
  const pace = { starts: 3, rounds: 5, seconds: 3, warmSeconds: 16, leadInSeconds: 1.7 };
  const load = { connections: 1, requests: [], keysAtRandom: 0 };
  const scene = { name: 'x', title: '', load, subjects: [] };
  const names = ['nginx', 'gatehouse'];
  assert.equal(secondsOf(scene, names, pace), 2 + 16 + 2 * 5 * 5, 'one process of each');
  assert.equal(secondsOf({ ...scene, startsAnew: true }, names, pace), 3 * (2 + 16 + 2 * 5 * 5));
});
