import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { Concurrency } from '../../src/quota/places/concurrency.ts';
import type { DrawOrder } from '../../src/stores/ledger.ts';
import { nameKeys } from '../../src/stores/redis/names.ts';
import { systemClock } from '../../src/waiting/clock.ts';
import { aKey, aNote } from '../helpers/a-key.ts';
import { makeCertificate, type Certificate } from '../helpers/certificates.ts';
import { freePort } from '../helpers/free-port.ts';
import { aCounter, aDraw, usedOf } from '../helpers/ledger-orders.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { startRedisSentinel } from '../helpers/redis-sentinel.ts';
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import { failureOf, openAt, outcomeOf } from '../helpers/store-faults.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { startTlsRedis } from '../helpers/tls-redis.ts';

/** Its sentinel wants a password in the end. */
const shared = await startRedisSentinel({ after });

/** What replication may be behind by: the draws in flight when the master died, of each of these. */
const DRAWING = 8;

test('when the master dies its replica takes over by itself, and loses no more draws than were in flight', async (t) => {
  const { url, master, replica } = await startRedisSentinel(t, { downAfterMs: 2_000 });
  const store = await openAt(t, url);
  const counters = [aCounter({ limit: 1_000_000_000 })];
  let drawn = 0;
  let failed = 0;
  const stop = new AbortController();
  t.after(() => stop.abort());
  const unclear: DrawOrder[] = [];
  const drawing = Array.from({ length: DRAWING }, async () => {
    while (!stop.signal.aborted) {
      const order = aDraw({ counters });
      const failure = await outcomeOf(store.ledger.draw(order));
      if (failure === undefined) {
        drawn += 1;
        continue;
      }
      failed += 1;
      if (failure.mayHaveHappened) unclear.push(order);
      // A refusal takes no time at all, and sockets want their turn.
      await setImmediate();
    }
  });
  await until(() => drawn > 500);
  await master.stop();
  const diedAt = performance.now();
  const atDeath = drawn;
  await until(() => isMaster(replica));
  const promotedAt = performance.now();
  await until(() => drawn > atDeath + 100);
  const servedAt = performance.now();
  stop.abort();
  await Promise.all(drawing);
  for (const order of unclear)
    await until(async () => (await outcomeOf(store.ledger.cancelDraw(order))) === undefined);
  const lost = drawn - Number(await usedOf(store.ledger, counters));
  t.diagnostic(
    `promoted after ${Math.round(promotedAt - diedAt)} ms, served again ${Math.round(servedAt - promotedAt)} ms later; ` +
      `${failed} calls failed; ${lost} of ${atDeath} acknowledged units were lost`,
  );
  assert.ok(lost <= DRAWING, `${lost} units were lost`);
});

test('in a planned failover nothing more is written to the old master, though it takes it for seconds yet and a sentinel is away', async (t) => {
  const { url, master, replica, sentinel } = shared;
  const withAway = url.replace('//', `//127.0.0.1:${await freePort()},`);
  const store = await openAt(t, `${withAway}/1`);
  await store.ping();
  // The sentinels have been asked who it is.
  await until(async () => (await sentinel.say('CLIENT', 'LIST')).includes('cmd=sentinel|master'));
  assert.equal(await sentinel.say('SENTINEL', 'FAILOVER', 'main'), '+OK\r\n');
  await until(() => isMaster(replica));
  const counters = [aCounter({ limit: 1_000_000_000 })];
  await until(async () => {
    await outcomeOf(store.ledger.draw(aDraw({ counters })));
    return (await replica.say('INFO', 'keyspace')).includes('db1:keys=');
  });
  assert.ok(await isMaster(master), 'it is not a replica yet');
});

test('with min-replicas-to-write a planned failover loses no change of a key but one that was in flight', async (t) => {
  const { url, master, replica, sentinel } = await startRedisSentinel(t);
  await master.say('CONFIG', 'SET', 'min-replicas-to-write', '1');
  const { keys } = await openAt(t, url);
  const made: string[] = [];
  async function make(): Promise<void> {
    const to = aKey({ id: `key-${made.length}`, secrets: [] });
    if ((await outcomeOf(keys.changeKey({ from: undefined, to, note: aNote() }))) === undefined)
      made.push(to.id);
    await pause(2);
  }
  await until(async () => {
    await make();
    return made.length > 20;
  });
  await sentinel.say('SENTINEL', 'FAILOVER', 'main');
  while (!(await isMaster(replica))) await make();
  for (let more = 0; more < 100; more += 1) await make();
  const promoted = await openAt(t, replica.url);
  const known = await Promise.all(made.map((id) => promoted.keys.readKey(id)));
  assert.ok(known.filter((key) => key === undefined).length <= 1);
});

test('who is led back to the old master by a sentinel that has not heard of the failover is taken off it again', async (t) => {
  const [old, next] = [await startRedisServer(t), await startRedisServer(t)];
  const [knowing, stale] = [await startFakeSentinel(t, old.port), await startFakeSentinel(t, old.port)];
  const sentinels = `127.0.0.1:${knowing.port},127.0.0.1:${stale.port}`;
  const store = await openAt(t, `redis+sentinel://${sentinels}/main/1`);
  await store.ping();
  await until(() => knowing.looks > 0);
  const { asked } = stale;
  // Whichever of them the client asks first, it is led by the other.
  Object.assign(knowing, { masterPort: next.port, epoch: 5, leads: false });
  await until(() => stale.asked > asked);
  knowing.leads = true;
  await until(async () => (await clientsOf(next)).length > 0);
});

test('a master that takes over without a failed call is told soon of the places that were left, and of those that are kept', async (t) => {
  const [old, next] = [await startRedisServer(t), await startRedisServer(t)];
  const sentinel = await startFakeSentinel(t, old.port);
  const { ledger } = await openAt(t, `redis+sentinel://127.0.0.1:${sentinel.port}/main`);
  const concurrency = new Concurrency({ ledger, clock: systemClock, onError: assert.ifError });
  const enter = async () => await concurrency.enter('ada', { limit: 8, shared: true }, 'refuse');
  const name = nameKeys('gatehouse:', 'ada').places();
  const placesAt = async (server: RedisServer) =>
    (await server.say('ZRANGE', name, 0, -1)).split('\r\n').filter((line) => /^[^*$]/.test(line));
  const left = await enter();
  assert.ok(left.kind === 'place');
  const [placeId = assert.fail()] = await placesAt(old);
  // The replica has heard of this place, and of nothing later.
  await next.say('ZADD', name, Date.now() + 30_000, placeId);
  await enter();
  left.leave();
  await until(async () => !(await placesAt(old)).includes(placeId));
  await until(() => sentinel.looks > 0);
  Object.assign(sentinel, { masterPort: next.port, epoch: 5 });
  const kept = await placesAt(old);
  assert.equal(kept.length, 1);
  await until(async () => String(await placesAt(next)) === String(kept), { within: 20_000 });
});

/** Ids of the connections that have chosen the database. */
async function clientsOf(server: RedisServer): Promise<readonly string[]> {
  const lines = (await server.say('CLIENT', 'LIST')).split('\n').filter((line) => line.includes(' db=1 '));
  return lines.map((line) => /id=(\d+)/.exec(line)?.[1] ?? '').toSorted();
}

/** A sentinel as far as a client asks one, which names a master. It counts who asks it where to connect to, and looks. */
async function startFakeSentinel(
  t: TestContext,
  masterPort: number,
  { certificate, login = [] }: { certificate?: Certificate; login?: readonly string[] } = {},
) {
  const sentinel = { port: 0, masterPort, epoch: 0, leads: true, asked: 0, looks: 0 };
  const answer = (command: string): string => {
    const [ip, port] = ['127.0.0.1', String(sentinel.masterPort)];
    if (command.includes('get-master-addr-by-name')) {
      sentinel.asked += 1;
      if (!sentinel.leads) return '*-1\r\n';
    }
    if (/get-master-addr-by-name/i.test(command)) return listOf(ip, port);
    if (!/master/i.test(command)) return '+OK\r\n';
    sentinel.looks += 1;
    return listOf('ip', ip, 'port', port, 'config-epoch', String(sentinel.epoch));
  };
  const serve = (socket: Socket): void => {
    let isKnown = login.length === 0;
    const isWelcome = (command: string): boolean =>
      (isKnown ||= /auth/i.test(command) && login.every((word) => command.includes(`\r\n${word}\r\n`)));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      for (const command of chunk
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1))
        socket.write(isWelcome(command) ? answer(command) : '-NOAUTH Authentication required.\r\n');
    });
  };
  const server = certificate === undefined ? createServer(serve) : createTlsServer(certificate, serve);
  sentinel.port = await listen(t, server);
  return sentinel;
}

function listOf(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

test('a master that no sentinel knows is told as that', async (t) => {
  const store = await openAt(t, shared.url.replace(/\/[^/]*$/, '/wrong'));
  assert.match((await failureOf(store.ping())).message, /has no master of this name, say its sentinels/);
});

test('sentinels that are not there are told as that', async (t) => {
  const store = await openAt(t, `redis+sentinel://127.0.0.1:${await freePort()}/main`);
  const { message } = await failureOf(store.ping());
  assert.match(message, /Redis cannot be found: the last sentinel that was asked cannot be reached$/);
});

test('a sentinel that takes connections and says nothing is passed over', async (t) => {
  const silent = createServer((socket) => void socket.resume().on('error', () => socket.destroy()));
  const master = await startRedisServer(t);
  const sentinels = [await listen(t, silent), (await startFakeSentinel(t, master.port)).port];
  const url = `redis+sentinel://127.0.0.1:${sentinels.join(',127.0.0.1:')}/main`;
  const store = await openAt(t, url, { deadlineMs: 250 });
  const answers = async (): Promise<boolean> => {
    await store.ping();
    return true;
  };
  await until(() => answers().catch(() => false));
});

test('a sentinel that is addressed as a plain Redis is told as one', async (t) => {
  const store = await openAt(t, shared.sentinel.url);
  const { message } = await failureOf(store.keys.listKeys('', 1));
  assert.match(message, /does not know a command .* or a sentinel: that is written redis\+sentinel:\/\//);
});

test('a sentinel that wants a password is told as that', async (t) => {
  const { url, sentinel } = shared;
  await sentinel.say('ACL', 'SETUSER', 'default', 'resetpass', '>swordfish');
  for (const [query, says] of [
    ['', /cannot be found: the last sentinel that was asked wants a password/],
    [
      '?sentinelPassword=catfish',
      /cannot be found: the last sentinel that was asked does not accept the user/,
    ],
  ] as const) {
    const store = await openAt(t, `${url}${query}`);
    assert.match((await failureOf(store.ping())).message, says);
  }
  await openAt(t, `${url}?sentinelPassword=swordfish`).then((store) => store.ping());
});

test('sentinels are spoken to in TLS like their master, with a user and a password of their own', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const ca = join(tempFolder(t), 'ca.pem');
  writeFileSync(ca, certificate.cert);
  const master = await startTlsRedis(t, certificate);
  const sentinel = await startFakeSentinel(t, master.port, { certificate, login: ['ops', 'swordfish'] });
  const url = `rediss+sentinel://127.0.0.1:${sentinel.port}/main?sentinelUsername=ops&sentinelPassword=swordfish`;
  const store = await openAt(t, `${url}&ca=${ca}`);
  assert.equal((await store.ledger.draw(aDraw({ counters: [aCounter({})] }))).kind, 'drawn');
  await until(() => sentinel.looks > 0);
  const { message } = await failureOf((await openAt(t, url)).ping());
  assert.match(message, /the last sentinel that was asked cannot be reached$/);
});

async function isMaster(server: RedisServer): Promise<boolean> {
  // A server that changes its role closes the connections that it has.
  const info = await server.say('INFO', 'replication').catch(() => '');
  return info.includes('role:master');
}
