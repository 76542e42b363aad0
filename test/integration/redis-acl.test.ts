import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { nameKeys } from '../../src/stores/redis/names.ts';
import type { Store } from '../../src/stores/store.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { watchStore } from '../../src/telemetry/watch-store.ts';
import { aKey, aNote, aSecret } from '../helpers/a-key.ts';
import { aDraw, someUnits, usedOf } from '../helpers/ledger-orders.ts';
import { until } from '../helpers/poll.ts';
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import { counters, failureOf, openAt, recovers } from '../helpers/store-faults.ts';

const page = readFileSync(new URL('../../docs/stores.md', import.meta.url), 'utf8');
const advised = /^ACL SETUSER gatehouse .*$/m.exec(page)?.[0].split(' ') ?? [];

test('the user that docs/stores.md advises is permitted all that a store does', async (t) => {
  const { redis, store } = await openAsUser(t);
  const { keys, ledger } = store;
  t.after(keys.watch(() => undefined));
  await store.ping();
  await store.probe();

  const key = aKey();
  assert.equal(await create(store, key), 'done');
  await keys.changeKey({ from: key, to: { ...key, version: key.version + 1, name: 'new' }, note: aNote() });
  await keys.addKeys([aKey()], aNote());
  await keys.noteUses([{ keyId: key.id, secretNumber: 1, at: 1 }]);
  await keys.addAudit(aNote());
  await keys.findKey(key.secrets[0]?.digest ?? '');
  assert.equal((await keys.readKey(key.id))?.record.name, 'new');
  assert.equal((await keys.listKeys('', 10)).length, 2);
  assert.equal((await keys.listAudit(undefined, 10)).length, 4);

  const order = aDraw({ counters });
  await ledger.draw(order);
  await ledger.cancelDraw(order);
  await ledger.charge(someUnits({ counters, units: 2, held: 1 }));
  await ledger.giveBack(someUnits({ counters }));
  await ledger.readTime(order.keyId);
  await ledger.readUsage(order.keyId, counters);
  await ledger.setUsage({ keyId: order.keyId, counters, spent: 1 });
  await ledger.takeCells({ keyId: order.keyId, name: 'rate', intervalMs: 1, burst: 1, want: 1 });
  const place = { keyId: order.keyId, placeId: 'p', limit: 1, expiresInMs: 1_000 };
  await ledger.enter(place);
  await ledger.stay(place);
  await ledger.leave(place.keyId, place.placeId);

  const listeners = () => redis.say('PUBSUB', 'NUMSUB', 'gatehouse:key-changes');
  await until(async () => (await listeners()).endsWith(':1\r\n'));
  assert.equal(await redis.say('ACL', 'LOG'), '*0\r\n', 'nothing was denied');
});

test('the user that docs/stores.md advises can do nothing to what else a Redis holds, nor learn its names', async (t) => {
  const { redis } = await openAsUser(t);
  await redis.say('SET', 'other', '1');
  const user = new Redis(redis.port, '127.0.0.1', { username: 'gatehouse', password: 'password' });
  t.after(() => user.disconnect());
  for (const words of [
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['SWAPDB', '0', '1'],
    ['MIGRATE', '127.0.0.1', '1', 'gatehouse:x', '0', '1'],
    ['GET', 'other'],
    ['DEL', 'other'],
    ['EVAL', "return redis.call('FLUSHALL')", '0'],
    ['EVAL', "return redis.call('DEL', 'other')", '0'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['RANDOMKEY'],
    ['SCRIPT', 'FLUSH'],
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['CLIENT', 'TRACKING', 'ON', 'BCAST'],
    ['CLIENT', 'PAUSE', '1'],
    ['CONFIG', 'GET', '*'],
    ['PUBLISH', 'other', 'x'],
    ['SHUTDOWN'],
  ]) {
    const [command = '', ...rest] = words;
    await assert.rejects(
      user.call(command, ...rest),
      /NOPERM|permissions|can't (?:run|access)/,
      words.join(' '),
    );
  }
  assert.equal(await redis.say('GET', 'other'), '$1\r\n1\r\n');
});

const noCommand = /does not permit our user (?:a|the) command/;
for (const rule of ['resetchannels', '-publish', '-set', '-zadd', '-xadd', '-xtrim']) {
  test(`a change of keys that cannot be made whole, as its user has ${rule}, is not begun`, async (t) => {
    const says = rule === 'resetchannels' ? /does not permit our user the channel/ : noCommand;
    const { redis, store } = await openAsUser(t);
    const there = aKey();
    await create(store, there);
    await redis.say('ACL', 'SETUSER', 'gatehouse', rule);
    const before = await dump(redis);
    const to = { ...there, version: there.version + 1, secrets: [aSecret({ number: 2 })] };
    for (const change of [
      () => create(store, aKey()),
      () => store.keys.changeKey({ from: there, to, note: aNote() }),
      () => store.keys.addKeys([aKey(), aKey()], aNote()),
    ]) {
      assert.match((await failureOf(change())).message, says);
    }
    assert.deepEqual(await dump(redis), before);
    assert.equal((await store.ledger.draw(aDraw({ counters }))).kind, 'drawn', 'quotas do not need it');
  });
}

for (const command of ['hset', 'hdel', 'hlen', 'pexpire', 'pexpireat', 'pttl', 'unlink', 'rename', 'time']) {
  test(`a step that is tried again and again, as the user lacks ${command}, counts once`, async (t) => {
    const { redis, store } = await openAsUser(t);
    const { ledger } = store;
    for (let step = 0; step < 20; step += 1) await ledger.draw(aDraw({ counters, need: 10, want: 10 }));
    const [latest] = nameKeys('gatehouse:', 'key').steps('a');
    assert.equal(
      await redis.say('HSET', latest, 'begun', '0'),
      ':0\r\n',
      'its steps are due to be put aside',
    );
    const back = someUnits({ counters, units: 5, held: 0 });
    const draw = aDraw({ counters, need: 7, want: 7 });
    await redis.say('ACL', 'SETUSER', 'gatehouse', `-${command}`);
    const steps = [() => ledger.giveBack(back), () => ledger.draw(draw), () => ledger.cancelDraw(draw)];
    for (const step of steps) {
      for (let tries = 0; tries < 3; tries += 1) await step().catch(() => undefined);
    }
    await redis.say('ACL', 'SETUSER', 'gatehouse', `+${command}`);
    await ledger.giveBack(back);
    await ledger.cancelDraw(draw);
    assert.equal(await usedOf(ledger, counters), '195');
  });
}

const unfits = [
  { lacks: 'scripts', rules: ['-@scripting'], says: /does not permit our user the command evalsha/ },
  { lacks: 'the time', rules: ['-time'], says: noCommand },
  { lacks: 'writing', rules: ['-@write'], says: noCommand },
  { lacks: 'our names', rules: ['resetkeys', '~other:*'], says: /does not permit our user the names/ },
];
for (const { lacks, rules, says } of unfits) {
  test(`a probe says that the user is not permitted ${lacks}`, async (t) => {
    const { redis, store } = await openAsUser(t);
    await store.probe();
    await redis.say('ACL', 'SETUSER', 'gatehouse', ...rules);
    assert.match((await failureOf(store.probe())).message, says);
    await store.ping();
  });
}

test('a feed of changed keys that the user may not read is an outage, until it may', async (t) => {
  const { redis, store: bare } = await openAsUser(t);
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const metrics = createMetrics();
  const store = watchStore(bare, metrics, logger);
  const heard: string[] = [];
  t.after(store.keys.watch(({ kind }) => heard.push(kind)));
  await until(() => heard.length > 0);
  await store.probe();
  await redis.say('ACL', 'SETUSER', 'gatehouse', '-xrevrange');
  await until(() => lines.length > 0);
  assert.match(lines[0] ?? '', /does not permit our user.*the store does not answer/);
  assert.match(await metrics.registry.metrics(), /store_errors_total\{operation="read_changes"\} [1-9]/);
  await assert.rejects(store.probe(), noCommand);
  await store.ledger.draw(aDraw({ counters }));
  assert.equal(lines.length, 1, 'what works all the same does not end it');
  await redis.say('ACL', 'SETUSER', 'gatehouse', '+xrevrange');
  await until(() => lines.length > 1);
  assert.match(lines[1] ?? '', /the store answers again/);
  await store.probe();
});

test('a user who may not ask for INFO prints nothing amid the log', async (t) => {
  const { redis, store } = await openAsUser(t);
  t.after(store.keys.watch(() => undefined));
  const warn = t.mock.method(console, 'warn', () => undefined);
  await redis.say('ACL', 'SETUSER', 'gatehouse', '-info');
  await redis.say('CLIENT', 'KILL', 'USER', 'gatehouse');
  await recovers(store);
  const listens = () => redis.say('PUBSUB', 'NUMSUB', 'gatehouse:key-changes');
  await until(async () => (await listens()).endsWith(':1\r\n'));
  assert.equal(warn.mock.callCount(), 0);
});

test('a password that Redis does not want prints nothing amid the log', async (t) => {
  const warn = t.mock.method(console, 'warn', () => undefined);
  const redis = await startRedisServer(t);
  const store = await openAt(t, redis.url.replace('//', '//:password@'));
  assert.equal((await store.ledger.draw(aDraw({ counters }))).kind, 'drawn');
  assert.equal(warn.mock.callCount(), 0);
});

/** A store that its Redis knows as the user of docs/stores.md. */
async function openAsUser(t: TestContext): Promise<{ redis: RedisServer; store: Store }> {
  const redis = await startRedisServer(t);
  assert.equal(await redis.say(...advised), '+OK\r\n');
  const url = redis.url.replace('//', '//gatehouse:password@');
  return { redis, store: await openAt(t, url) };
}

async function create({ keys }: Store, to = aKey()): Promise<string> {
  return keys.changeKey({ from: undefined, to, note: aNote() });
}

/** All that Redis holds, name by name. */
async function dump(redis: RedisServer): Promise<readonly string[]> {
  const names = (await redis.say('KEYS', '*')).split('\r\n').filter((line) => line.startsWith('gatehouse:'));
  return Promise.all(names.toSorted().map(async (name) => name + (await redis.say('DUMP', name))));
}
