import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { takeCells, type RateAsk, type RateState } from '../../src/stores/gcra.ts';
import { scripts, type Script, type Words } from '../../src/stores/redis/scripts.ts';
import { leaseToldMs, placeExpiresMaxMs } from '../../src/stores/retention.ts';
import { startRedisServer } from '../helpers/redis-server.ts';

// What scripts answer at one moment or another: they run in a real Redis, by a clock that the test sets.

const { port } = await startRedisServer({ after });
const redis = new Redis(port, '127.0.0.1');
after(() => redis.disconnect());

/** Runs a script at a moment. Resolves to its answer and, if it writes a text, to that and for how long it is kept. */
async function runAt(
  now: number,
  { source }: Script,
  keys: readonly string[],
  args: Words,
): Promise<unknown[]> {
  const byOurClock = `
    local ours, theirs = table.remove(ARGV), redis
    local time = { string.sub(ours, 1, -4), string.sub(ours, -3) .. '999' }
    local text, keptMs = false, false
    local redis = { call = function(name, ...)
      if name == 'TIME' then return time end
      if name == 'SET' then text, keptMs = select(2, ...), select(4, ...) end
      return theirs.call(name, ...)
    end }
    local function run() ${source} end
    return { run(), text, keptMs }`;
  return (await redis.eval(byOurClock, keys.length, ...keys, ...args, now)) as unknown[];
}

const START = 1_763_000_000_000;

/** Has a rate's state go through both computations. */
async function assertSame(state: RateState | undefined, ask: RateAsk): Promise<void> {
  const { intervalMs, burst, want, now } = ask;
  const step = takeCells(state, ask);
  if (state === undefined) await redis.del('rate');
  else await redis.set('rate', `${state.base} ${state.cells} ${state.intervalMs}`);
  const [answer, text, keptMs] = await runAt(now, scripts.takeCells, ['rate'], [intervalMs, burst, want]);
  assert.deepEqual(answer, [step.taken, step.remaining, step.retryInMs, now]);
  if (!step.changed) return assert.equal(text, null);
  const [base = 0, cells = 0, interval = 0] = String(text).split(' ').map(Number);
  assert.deepEqual({ base, cells, intervalMs: interval }, step.state);
  assert.equal(keptMs, String(Math.max(Math.ceil(base + cells * interval - now), 1)));
}

test('rates are taken in Redis as they are in SQLite', async () => {
  const interval = fc
    .record({ limit: fc.integer({ min: 1, max: 5_000 }), perMs: fc.constantFrom(7, 1_000, 60_000) })
    .map(({ limit, perMs }) => perMs / limit);
  const asks = fc.record({
    old: fc.option(interval),
    intervalMs: interval,
    cells: fc.nat(60),
    elapsed: fc.integer({ min: -2_000, max: 5_000 }),
    burst: fc.integer({ min: 1, max: 50 }),
    want: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(asks, async ({ old, intervalMs, cells, elapsed, burst, want }) => {
      const state = { base: START, cells, intervalMs: old ?? intervalMs };
      await assertSame(state, { intervalMs, burst, want, now: START + elapsed });
    }),
    { numRuns: 300 },
  );
});

const perSecond15 = 1000 / 15;
const edges: readonly (readonly [
  name: string,
  intervalMs: number,
  burst: number,
  owed: number,
  elapsed: number,
])[] = [
  ['nothing is owed', 10, 3, 0, 0],
  ['a cell is free sooner than its quotient says', perSecond15, 99, 99, 4_200],
  ['a cell is free later than its quotient says', perSecond15, 150, 150, 6_600],
  ['more is owed than the clock can tell', perSecond15, 1, 16, 1_000],
  ['a cell takes less time than the clock can tell', 0.00001, 3, 0, 0],
  ['a cell takes nearly for ever', 9e15, 1, 0, 0],
];
for (const [name, intervalMs, burst, cells, elapsed] of edges) {
  test(`rates are taken in Redis as they are in SQLite where ${name}`, async () => {
    const state = cells === 0 ? undefined : { base: START, cells, intervalMs };
    for (const want of [1, burst]) await assertSame(state, { intervalMs, burst, want, now: START + elapsed });
  });
}

test('rates are taken in Redis as they are in SQLite where an edited one is owed a fraction of a millisecond', async () => {
  const state = { base: START, cells: 1, intervalMs: 25.25 };
  await assertSame(state, { intervalMs: 58.6, burst: 4, want: 1, now: START - 158 });
});

test('a draw is for the millisecond in which its period begins, and not for the one in which it has ended', async () => {
  const [start, end] = [Date.now(), Date.now() + 60_000];
  const keys = ['latest', 'earlier', 'counter'];
  let nth = 0;
  const kindAt = async (now: number): Promise<string | undefined> => {
    nth += 1;
    const args = [`:a.${nth}`, 'a', nth, 1, 1, 0, 9, start, end, end + 60_000];
    const [answer] = await runAt(now, scripts.draw, keys, args);
    return String(answer)[0];
  };
  const kinds = [];
  for (const now of [start - 1, start, end - 1, end]) kinds.push(await kindAt(now));
  assert.deepEqual(kinds, ['3', '1', '1', '3']);
});

test('usage is set from the millisecond in which its period begins, and not in the one in which it has ended', async () => {
  const [start, end] = [Date.now(), Date.now() + 60_000];
  const answers = [];
  for (const now of [start - 1, start, end - 1, end]) {
    const args = [leaseToldMs, 5, start, end, end + 60_000];
    answers.push((await runAt(now, scripts.setUsage, ['counter that is set'], args))[0]);
  }
  assert.deepEqual(answers, ['not_current', '5 0', '5 0', 'not_current']);
});

test('a place is kept until the millisecond in which it expires, and for the longest time too', async () => {
  const begins = START + 500;
  const ends = begins + 30_000;
  assert.equal(await enterAt(begins, 'a', 30_000), 1);
  assert.equal(await enterAt(ends - 1, 'b', 30_000), 0);
  assert.equal(await enterAt(ends, 'b', placeExpiresMaxMs), 1);
  assert.equal(await enterAt(ends, 'b', placeExpiresMaxMs), 1, 'who has it stays');
  assert.equal(await enterAt(ends, 'a', 30_000), 0);
  assert.equal(await enterAt(ends - 1, 'c', 30_000), 1, 'nobody takes one for longer: the clock was ahead');
  await redis.zadd('places', ends, 'a');
  assert.equal(await enterAt(ends, 'a', 30_000), 0, 'who had it has it no more');
});

async function enterAt(now: number, placeId: string, expiresInMs: number): Promise<unknown> {
  const [entered] = await runAt(now, scripts.enter, ['places'], [placeId, 1, expiresInMs, placeExpiresMaxMs]);
  return entered;
}

test('a charge that is repeated because no answer comes in time is made once, however many steps follow it', async () => {
  const start = Date.now();
  const keys = ['latest of b', 'earlier of b', 'counter of b'];
  const charge = async (now: number, nth: number, units: number): Promise<unknown> =>
    runAt(now, scripts.add, keys, [`:b.${nth}`, 'b', 1, units, 0, start + 3_600_000]);
  for (let nth = 2; nth <= 121; nth += 1) {
    await charge(start + nth * 500, 1, 100);
    await charge(start + nth * 500, nth, 1);
  }
  assert.equal(await redis.hget('counter of b', 'used'), '220');
});
