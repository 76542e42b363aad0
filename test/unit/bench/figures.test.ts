import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../../bench/bar.ts';
import { readSeen, type Request } from '../../../bench/load.ts';
import { lineOf, type Round } from '../../../bench/measure.ts';
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
  const seen = (statuses: readonly number[], refused: number) =>
    readSeen({ requests: statuses.map(request) }, { ...counts, refused });
  assert.deepEqual(seen([200], 0), { requests: 1000, seconds: 2, p50Ms: 1.5, p99Ms: 9, errors: 3 });
  assert.equal(seen([200], 7).errors, 10, 'refused though it should not be');
  assert.equal(seen([401], 1000).errors, 3);
  assert.equal(seen([401], 990).errors, 13, 'let through though it should not be');
  assert.equal(seen([200, 200, 200, 401], 245).errors, 3, 'the end of a load cuts a mix anywhere');
  assert.equal(seen([200, 200, 200, 401], 400).errors, 153);
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
    line('keys-1000000', 'gatehouse stored keys', [round({}), round({})], 170),
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
  assert.deepEqual(rows.get('CPU per request'), ['16 µs', '15–17', '60 µs', '42 µs', 'aim']);
  assert.deepEqual(rows.get('requests/s against bare Node + undici, no policy')?.slice(0, 1), [
    'not measured',
  ]);
  const memory = rows.get('peak resident memory, one process, any scenario but uploads');
  assert.deepEqual(memory, ['170 MB', '', '150 MB', '110 MB', 'missed'], 'uploads aside');
});
