import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { nameKeys } from '../../src/stores/redis/names.ts';
import { Unreadable } from '../../src/stores/store-unavailable.ts';
import { aCounter, aDraw, someUnits, usedOf } from '../helpers/ledger-orders.ts';
import { until } from '../helpers/poll.ts';
import { isWell } from '../helpers/redis-cluster.ts';
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import { counters, failureOf, openAt, recovers, ownRedis } from '../helpers/store-faults.ts';

async function callsOf(redis: RedisServer): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.say('INFO', 'commandstats'))?.[1] ?? 0);
}

test('who asks for the same in one turn is answered by one call, 8 at most, each with their own', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  // Redis knows the scripts from now on.
  for (const keys of [['a'], ['b', 'c']])
    await Promise.all(keys.map((keyId) => ledger.draw(aDraw({ counters, keyId }))));
  const before = await callsOf(redis);
  const keys = Array.from({ length: 70 }, (_, at) => ({ keyId: `k${at}`, want: at }));
  const answers = await Promise.all(keys.map((key) => ledger.draw(aDraw({ counters, ...key }))));
  assert.deepEqual(
    answers.map((answer) => answer.kind === 'drawn' && [answer.units, answer.used]),
    keys.map(({ want }) => [want, [want]]),
  );
  assert.equal((await callsOf(redis)) - before, Math.ceil(keys.length / 8));
  assert.equal(await usedOf(ledger, counters, 'k69'), '69');
});

test('eight who ask for the same are sent before the turn is over', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const keys = Array.from({ length: 9 }, (_, at) => `k${at}`);
  await Promise.all(keys.map((keyId) => ledger.draw(aDraw({ counters, keyId }))));
  const before = await callsOf(redis);
  const answers = Promise.all(keys.map((keyId) => ledger.draw(aDraw({ counters, keyId }))));
  holdTurnUntilCalled(redis, before + 1);
  await answers;
  assert.equal(await callsOf(redis), before + 2);
});

/** Holds this process up, and so the turn of its event loop, until Redis has run so many scripts; fails when it never does. */
function holdTurnUntilCalled({ port }: RedisServer, calls: number): void {
  const look = `
    const socket = require('node:net').connect(${port}, '127.0.0.1');
    const ask = () => socket.write('INFO commandstats\\r\\n');
    socket.on('data', (text) => String(text).includes('cmdstat_evalsha:calls=${calls},') ? socket.end() : ask());
    ask();`;
  execFileSync(process.execPath, ['-e', look], { timeout: 60_000 });
}

test('a key whose usage cannot be counted harms no other that is counted together with it', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const [counter = aCounter({})] = counters;
  await redis.say('SET', nameKeys('gatehouse:', 'foreign').counter(counter), 'x');
  await redis.say('HSET', nameKeys('gatehouse:', 'damaged').counter(counter), 'used', 'x');
  const keys = ['one', 'foreign', 'damaged', 'other'];
  const answers = await Promise.allSettled(keys.map((keyId) => ledger.draw(aDraw({ counters, keyId }))));
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  for (const answer of answers)
    assert.ok(answer.status === 'fulfilled' || answer.reason instanceof Unreadable);
  assert.equal(await usedOf(ledger, counters, 'other'), '1');
});

test('what is asked for in one turn is done in that order', async (t) => {
  const { ledger } = await openAt(t, (await startRedisServer(t)).url);
  const one = [aCounter({ limit: 1 })];
  const [drawn, , again, used, none] = await Promise.all([
    ledger.draw(aDraw({ counters: one })),
    ledger.giveBack(someUnits({ counters: one })),
    ledger.draw(aDraw({ counters: one })),
    usedOf(ledger, one),
    ledger.draw(aDraw({ counters: one })),
  ]);
  assert.deepEqual([drawn.kind, again.kind, used, none.kind], ['drawn', 'drawn', '1', 'exhausted']);
});

test('steps that tell nothing, and keys that nobody knows, are answered among others', async (t) => {
  const { ledger, keys } = await openAt(t, (await startRedisServer(t)).url);
  await Promise.all([1, 2, 3].map(() => ledger.charge(someUnits({ counters }))));
  assert.equal(await usedOf(ledger, counters), '3');
  const found = await Promise.all(['00', '11'].map((pair) => keys.findKey(pair.repeat(32))));
  assert.deepEqual(found, [undefined, undefined]);
});

test('all who ask one that has become a replica hear of it, and its connection is left', async (t) => {
  const { redis, store } = await ownRedis(t);
  const spent = { counters: [aCounter({ limit: 0 })], keyId: 'spent' };
  assert.equal((await store.ledger.draw(aDraw(spent))).kind, 'exhausted');
  const connection = /^id=\d+ .* cmd=eval/m.exec(await redis.say('CLIENT', 'LIST'))?.[0].split(' ')[0];
  assert.ok(connection !== undefined);
  await redis.say('REPLICAOF', '127.0.0.1', 1);
  const orders = [spent, { counters }, spent, { counters, keyId: 'other' }].map((order) => aDraw(order));
  for (const failure of await Promise.all(orders.map((order) => failureOf(store.ledger.draw(order))))) {
    assert.equal(failure.message, 'Redis is a read-only replica');
    assert.equal(failure.mayHaveHappened, false);
  }
  // Its name may lead to another by now.
  await until(async () => !(await redis.say('CLIENT', 'LIST')).includes(`${connection} `));
  await redis.say('REPLICAOF', 'NO', 'ONE');
  assert.equal(await recovers(store), 1);
});

test('a cluster that looks like one server is asked by a call for each', async (t) => {
  const redis = await startRedisServer(t, { args: ['--cluster-enabled', 'yes'] });
  await redis.say('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await until(() => isWell(redis));
  const { ledger } = await openAt(t, redis.url);
  const [counter = aCounter({})] = counters;
  await redis.say('SET', nameKeys('gatehouse:', 'foreign').counter(counter), 'x');
  for (let turn = 0; turn < 2; turn += 1) {
    const keys = ['one', 'foreign', 'other'];
    const answers = await Promise.allSettled(keys.map((keyId) => ledger.draw(aDraw({ counters, keyId }))));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    for (const answer of answers)
      assert.ok(answer.status === 'fulfilled' || answer.reason instanceof Unreadable);
  }
  assert.equal(await usedOf(ledger, counters, 'other'), '2');
  const refused = /errorstat_CROSSSLOT:count=(\d+)/.exec(await redis.say('INFO', 'errorstats'))?.[1];
  assert.equal(refused, '1');
});

test('what was asked for in the turn in which the store is closed is still sent', async (t) => {
  const redis = await startRedisServer(t);
  const [store, other] = [await openAt(t, redis.url), await openAt(t, redis.url)];
  await store.ledger.charge(someUnits({ counters }));
  const charge = store.ledger.charge(someUnits({ counters }));
  await store.close();
  await charge;
  assert.equal(await usedOf(other.ledger, counters), '2');
});
