import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfTime, type Counter, type Ledger } from '../../src/stores/ledger.ts';
import { nameKeys } from '../../src/stores/redis/names.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { aCounter, aDraw, HOUR, someUnits, usedOf } from '../helpers/ledger-orders.ts';
import { until } from '../helpers/poll.ts';
import type { RedisServer } from '../helpers/redis-server.ts';
import { ownRedis } from '../helpers/store-faults.ts';

// What the ledger leaves in Redis, and for how long.

const names = nameKeys('gatehouse:', 'key');
const many = [aCounter({ limit: 1_000 })];

test('everything expires by itself, except the usage of a lifetime', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const lifetime = aCounter({ name: 'lifetime', periodStart: 0, periodEnd: endOfTime });
  const counters = [aCounter({}), lifetime];
  await ledger.draw(aDraw({ counters }));
  await ledger.charge(someUnits({ counters: [aCounter({ name: 'charged' })], holder: 'b' }));
  await ledger.giveBack(someUnits({ counters: [aCounter({ name: 'never drawn' })], holder: 'c' }));
  const ended = { name: 'ended', periodStart: 0, periodEnd: Date.now() - 25 * HOUR };
  await ledger.charge(someUnits({ counters: [aCounter(ended)], holder: 'b' }));
  await ledger.cancelDraw(aDraw({ counters, holder: 'd' }));
  await ledger.takeCells({ keyId: 'key', name: 'rate', intervalMs: 60_000, burst: 2, want: 1 });
  await ledger.enter({ keyId: 'key', placeId: 'p', limit: 1, expiresInMs: 60_000 });
  await ledger.stay({ keyId: 'other', placeId: 'p', expiresInMs: 60_000 });
  await ledger.setUsage({ keyId: 'key', counters: [aCounter({ name: 'set' }), lifetime], spent: 0 });
  const all = (await redis.say('KEYS', '*')).split('\r\n').filter((line) => line.startsWith('gatehouse:'));
  assert.equal(all.length, 11, all.join('\n'));
  for (const name of all) {
    const left = await number(redis.say('PTTL', name));
    if (name === names.counter(lifetime)) assert.equal(left, -1);
    else assert.ok(left > 0, name);
  }
});

test('a counter outlives its period by as much as that is worth', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const periodStart = Date.now() - 500;
  const lasting = (name: string, ms: number): Counter =>
    aCounter({ name, periodStart, periodEnd: periodStart + ms });
  const [second, minute, hour, month] = [
    lasting('second', 1_000),
    lasting('minute', 60_000),
    lasting('hour', HOUR),
    lasting('month', 30 * 24 * HOUR),
  ];
  await ledger.charge(someUnits({ counters: [second, minute] }));
  await ledger.draw(aDraw({ counters: [hour, month] }));
  assert.equal(await keptMs(redis, second), 60_000);
  assert.equal(await keptMs(redis, minute), 24 * 60_000);
  assert.equal(await keptMs(redis, hour), 24 * HOUR);
  assert.equal(await keptMs(redis, month), 24 * HOUR);
});

test('a counter lives as long as the longest period that is asked of it, used up or not', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const short = aCounter({});
  const long = { ...short, periodEnd: short.periodEnd + 30 * 24 * HOUR };
  await ledger.draw(aDraw({ counters: [short], want: short.limit }));
  assert.equal(await keptMs(redis, short), 24 * HOUR);
  for (const counter of [long, short]) {
    assert.equal((await ledger.draw(aDraw({ counters: [counter] }))).kind, 'exhausted');
    assert.equal(await keptMs(redis, long), 24 * HOUR);
  }
});

test('usage that is set is kept for as long as the longest period that was counted in it', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const short = aCounter({});
  const long = { ...short, periodEnd: short.periodEnd + 30 * 24 * HOUR };
  const set = (counter: Counter) => ledger.setUsage({ keyId: 'key', counters: [counter], spent: 3 });
  await set(short);
  assert.equal(await keptMs(redis, short), 24 * HOUR);
  for (const counter of [long, short]) {
    await set(counter);
    assert.equal(await keptMs(redis, long), 24 * HOUR);
  }
});

test('what a process told too long ago is not counted beside what is set', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const [counter] = many as [Counter];
  await ledger.draw(aDraw({ counters: many, want: 5, holder: 'alive' }));
  await redis.say('HSET', names.counter(counter), 'h:dead', `3 ${Date.now() - HOUR}`);
  const set = { keyId: 'key', counters: many, spent: 10 };
  assert.deepEqual(await ledger.setUsage(set), [{ used: 15, leased: 5 }]);
});

test('a rate of a clock that was ahead delays nobody for longer than told', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  await redis.say('SET', names.rate('rate'), `${Date.now() + HOUR} 5 20`);
  const order = { keyId: 'key', name: 'rate', intervalMs: 20, burst: 5, want: 1 };
  const refused = await ledger.takeCells(order);
  assert.ok(refused.kind === 'too_fast' && refused.retryInMs === 20, JSON.stringify(refused));
  await until(() => Date.now() >= refused.now + refused.retryInMs);
  assert.equal((await ledger.takeCells(order)).kind, 'taken');
});

test('a place of a clock that was ahead is free', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const order = { keyId: 'key', placeId: 'a', limit: 1, expiresInMs: 15_000 };
  await ledger.enter(order);
  await redis.say('ZADD', names.places(), Date.now() + 2 * HOUR, 'a');
  assert.equal(await ledger.enter({ ...order, placeId: 'b' }), 'entered');
  assert.equal(await number(redis.say('ZCARD', names.places())), 1);
  await redis.say('ZADD', names.places(), Date.now() + 2 * HOUR, 'a');
  assert.equal(await ledger.enter(order), 'full', 'also for whom it was');
});

test('a place that has expired belongs to nobody, and goes when another is taken', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const order = { keyId: 'key', placeId: 'a', limit: 1, expiresInMs: 15_000 };
  await ledger.enter({ ...order, placeId: 'b' });
  await redis.say('ZADD', names.places(), Date.now() - 1000, 'a');
  assert.equal(await ledger.enter(order), 'full');
  assert.equal(await ledger.enter({ ...order, placeId: 'c', limit: 2 }), 'entered');
  assert.equal(await number(redis.say('ZCARD', names.places())), 2);
  await ledger.stay({ ...order, placeId: 'b', expiresInMs: 1000 });
  await ledger.enter({ ...order, placeId: 'd', limit: 3, expiresInMs: 1000 });
  assert.ok((await number(redis.say('PTTL', names.places()))) > 10_000, 'the other place lives on');
});

test('where Redis has no memory left no place is taken or kept, although one has expired', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const order = { keyId: 'key', placeId: 'a', limit: 2, expiresInMs: 15_000 };
  await ledger.enter(order);
  await redis.say('ZADD', names.places(), Date.now() - 1000, 'b');
  await redis.say('CONFIG', 'SET', 'maxmemory', 1);
  await assert.rejects(ledger.enter({ ...order, placeId: 'c' }), /no memory left/);
  await assert.rejects(ledger.stay(order), /no memory left/);
});

test('steps are remembered over one rotation and forgotten with the next', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const [latest, earlier] = names.steps('a');
  const order = aDraw({ counters: many });
  const answer = await ledger.draw(order);
  await rotate(redis, ledger);
  assert.ok((await number(redis.say('HLEN', earlier))) > 17);
  assert.deepEqual(await ledger.draw(order), answer);
  const cancelled = aDraw({ counters: many });
  await ledger.cancelDraw(cancelled);
  await rotate(redis, ledger);
  await assert.rejects(ledger.draw(cancelled), StoreUnavailable);
  assert.ok((await number(redis.say('HLEN', latest))) < 5);
  assert.ok((await number(redis.say('PTTL', latest))) > HOUR, 'it goes by itself');
  assert.equal(await number(redis.say('HEXISTS', earlier, `:${order.id}`)), 0);
});

test('however old they are, steps are remembered until sixteen follow', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const steps = Array.from({ length: 16 }, () => aDraw({ counters: many }));
  for (const step of steps) {
    await ledger.draw(step);
    await age(redis);
  }
  const [latest, earlier] = names.steps('a');
  await age(redis, 5_000);
  await ledger.draw(aDraw({ counters: many }));
  assert.equal(await number(redis.say('EXISTS', earlier)), 0, 'nor before ten seconds have passed');
  // By a clock that was ahead and has been set back they could seem new for long.
  await age(redis, -11_000);
  await ledger.draw(aDraw({ counters: many }));
  assert.deepEqual(
    await Promise.all([latest, earlier].map((name) => number(redis.say('HLEN', name)))),
    [4, 20],
  );
});

test('a step that may come again is remembered however many follow, and however long it takes', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const late = someUnits({ counters: many, units: 7 });
  const takeOthers = async (count: number, openFrom: number): Promise<void> => {
    for (let taken = 0; taken < count; taken += 1) {
      await ledger.charge(someUnits({ counters: many, openFrom }));
      await age(redis);
    }
  };
  await takeOthers(15, late.openFrom);
  const charge = someUnits({ counters: many, units: 5 });
  await ledger.charge({ ...charge, openFrom: late.openFrom });
  await takeOthers(20, late.openFrom);
  await ledger.charge(late);
  assert.equal(await usedOf(ledger, many), '47', 'nor is one that has not come yet taken for forgotten');
  await takeOthers(40, charge.openFrom);
  await ledger.charge(charge);
  assert.equal(await usedOf(ledger, many), '87');
  const [latest, earlier] = names.steps('a');
  assert.equal(await number(redis.say('HEXISTS', earlier, `:${charge.id}`)), 1);
  assert.ok((await number(redis.say('HLEN', latest))) > 40);
  await age(redis);
  await ledger.charge(someUnits({ counters: many }));
  assert.equal(await number(redis.say('HLEN', latest)), 4, 'once it comes no more, it makes room for others');
  assert.equal(await number(redis.say('HEXISTS', earlier, `:${charge.id}`)), 0);
});

test('a step is remembered for an hour, however long ago the first of its kind was', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const [latest] = names.steps('a');
  for (const minutes of [0, 5, 14, 16, 40, 74]) {
    await redis.say('DEL', latest);
    await ledger.draw(aDraw({ counters: many }));
    // As if the first had been so long ago.
    await redis.say('HINCRBY', latest, 'begun', -minutes * 60_000);
    await redis.say('PEXPIRE', latest, (await number(redis.say('PTTL', latest))) - minutes * 60_000);
    await ledger.draw(aDraw({ counters: many }));
    const left = await number(redis.say('PTTL', latest));
    assert.ok(left > HOUR - 60_000 && left <= 1.25 * HOUR, `${minutes} minutes`);
  }
});

test('where Redis has no memory left a step with which others are kept for longer is refused like any other', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  await ledger.draw(aDraw({ counters: many }));
  await age(redis, 16 * 60_000);
  await redis.say('CONFIG', 'SET', 'maxmemory', 1);
  await assert.rejects(ledger.draw(aDraw({ counters: many })), /no memory left/);
});

test('no step is taken again when it is forgotten, nor is one taken that comes so late', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const taken = { draw: aDraw({ counters: many, want: 50 }), back: someUnits({ counters: many, units: 10 }) };
  const late = { draw: aDraw({ counters: many }), back: someUnits({ counters: many }) };
  const charges = [someUnits({ counters: many, units: 3 }), someUnits({ counters: many, units: 5 })] as const;
  const lower = someUnits({ counters: many });
  await ledger.draw(taken.draw);
  await ledger.giveBack(taken.back);
  await ledger.charge(charges[0]);
  await rotate(redis, ledger);
  // A step that was on its way for a moment is taken, although later ones came before it.
  await ledger.giveBack(late.back);
  assert.equal(await usedOf(ledger, many), String(50 - 10 + 3 + 18 - 1));
  let highest = lower;
  await rotate(redis, ledger, async () => {
    highest = someUnits({ counters: many });
    await ledger.giveBack(highest);
    await ledger.giveBack(lower);
  });
  await rotate(redis, ledger);
  // By itself this goes after an hour.
  await redis.say('DEL', names.steps('a')[1]);
  await rotate(redis, ledger);
  await ledger.draw(aDraw({ counters: many }));
  const used = await usedOf(ledger, many);
  await ledger.giveBack(highest);
  for (const { draw, back } of [taken, late]) {
    await assert.rejects(ledger.draw(draw), (error) => {
      return error instanceof StoreUnavailable && !error.mayHaveHappened;
    });
    await ledger.giveBack(back);
  }
  for (const charge of charges) await ledger.charge(charge);
  assert.equal(await usedOf(ledger, many), used);
  assert.equal((await ledger.draw(aDraw({ counters: many }))).kind, 'drawn');
});

test('a draw whose counter is gone is cancelled like any other, and leaves none', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const order = aDraw({ counters: many, want: 4 });
  await ledger.draw(order);
  for (const counter of many) await redis.say('DEL', names.counter(counter));
  await ledger.cancelDraw(order);
  assert.equal(await number(redis.say('EXISTS', ...many.map(names.counter))), 0);
  await assert.rejects(ledger.draw(order), StoreUnavailable);
});

test('what dead processes told goes when many have told, and what living ones told stays', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const counter = aCounter({ limit: 1_000 });
  await ledger.charge(someUnits({ counters: [counter], units: 400, holder: 'holds none' }));
  await ledger.draw(aDraw({ counters: [counter], want: 5, holder: 'alive' }));
  const dead = Array.from({ length: 80 }, (_, index) => [
    `h:dead-${index}`,
    `3 ${Date.now() - 2 * HOUR}`,
  ]).flat();
  // One that has told in this hour may live.
  await redis.say('HSET', names.counter(counter), ...dead, 'h:quiet', `2 ${Date.now() - 50 * 60_000}`);
  assert.equal((await ledger.readUsage('key', [counter]))[0]?.leased, 7);
  await ledger.draw(aDraw({ counters: [counter], want: 4, holder: 'new' }));
  assert.equal(await number(redis.say('HLEN', names.counter(counter))), 4);
  assert.equal((await ledger.readUsage('key', [counter]))[0]?.leased, 11);
});

/** Makes Redis begin to remember the steps of a process anew; eighteen units are drawn for it. */
async function rotate(
  redis: RedisServer,
  ledger: Ledger,
  takeLastSteps?: () => Promise<void>,
): Promise<void> {
  for (let step = 0; step < 17; step += 1) await ledger.draw(aDraw({ counters: many }));
  await takeLastSteps?.();
  await age(redis);
  await ledger.draw(aDraw({ counters: many }));
}

/** Makes it long enough ago that Redis began to remember the steps of a process. */
async function age(redis: RedisServer, ms = 11_000): Promise<void> {
  await redis.say('HSET', names.steps('a')[0], 'begun', Date.now() - ms);
}

/** How long Redis keeps a counter after its period. */
async function keptMs(redis: RedisServer, counter: Counter): Promise<number> {
  const left = await number(redis.say('PTTL', names.counter(counter)));
  return Math.round((Date.now() + left - counter.periodEnd) / 10_000) * 10_000;
}

/** The integer of a raw answer. */
async function number(answer: Promise<string>): Promise<number> {
  return Number((await answer).slice(1));
}
