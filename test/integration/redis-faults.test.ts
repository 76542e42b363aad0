import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { feedEntriesMax, type KeyEvent } from '../../src/stores/key-store.ts';
import type { DrawOrder } from '../../src/stores/ledger.ts';
import { firstConnection } from '../../src/stores/redis/client/client.ts';
import { createLink } from '../../src/stores/redis/link.ts';
import { nameKeys } from '../../src/stores/redis/names.ts';
import { StoreUnavailable, Unreadable } from '../../src/stores/store-unavailable.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { writeTemporary } from '../helpers/config-file.ts';
import { greet, startFake } from '../helpers/fake-redis.ts';
import { hearChanges } from '../helpers/hear-changes.ts';
import { holdUp } from '../helpers/hold-up.ts';
import { aCounter, aDraw, someUnits, usedOf } from '../helpers/ledger-orders.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { durable, startRedisServer } from '../helpers/redis-server.ts';
import { runCli } from '../helpers/run-cli.ts';
import {
  counters,
  DEADLINE_MS,
  failureOf,
  openHasty,
  openAt,
  outcomeOf,
  recovers,
  ownRedis,
  proxiedRedis,
} from '../helpers/store-faults.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { tempFolder } from '../helpers/temp-folder.ts';
import { startTlsRedis } from '../helpers/tls-redis.ts';

test('an answer that came while the process was held up came in time', async (t) => {
  const { store } = await ownRedis(t, openHasty);
  await recovers(store);
  const drawn = store.ledger.draw(aDraw({ counters }));
  await setImmediate(); // it is sent
  holdUp(1_200);
  assert.equal((await drawn).kind, 'drawn');
});

test('a connection is kept although the process was held up for longer than silence is borne', async (t) => {
  const { redis, store } = await ownRedis(t, openAt, { deadlineMs: 2_000 });
  await recovers(store);
  const connections = async (): Promise<string> =>
    /total_connections_received:(\d+)/.exec(await redis.say('INFO', 'stats'))?.[1] ?? '';
  const before = Number(await connections());
  // What has not left before will not find its answer waiting.
  await redis.say('CLIENT', 'PAUSE', 2_500);
  const asked = store.keys.readKey('nobody');
  holdUp(2_400);
  assert.equal(await asked, undefined);
  // Ours to pause it and to ask are two.
  assert.equal(Number(await connections()) - before, 2);
});

const feed = 'gatehouse:{keys}:changes';
/** Adds more changes than the feed keeps. */
const overfill = `for nth = 1, ${feedEntriesMax + 500} do redis.call('XADD', KEYS[1], 'MAXLEN', ${feedEntriesMax}, '*', 'key', 'a') end`;

const misread = [
  {
    scheme: 'redis+cluster',
    path: '',
    says: 'Redis is not connected: Redis is no cluster (a single Redis is written redis://)',
  },
  {
    scheme: 'redis+sentinel',
    path: '/main',
    says: 'Redis is not connected: Redis cannot be found: the last sentinel that was asked is no sentinel (a single Redis is written redis://)',
  },
];
// What only waits waits side by side. Each has a Redis of its own.
describe('side by side', { concurrency: 8 }, () => {
  test('a Redis that is stopped costs each call the deadline at most, then nothing, and counts nothing twice', async (t) => {
    const redis = await startRedisServer(t);
    const [store, patient] = [await openHasty(t, redis.url), await openAt(t, redis.url)];
    await patient.ledger.draw(aDraw({ counters }));
    redis.signal('SIGSTOP');
    const lost: DrawOrder[] = [];
    const drawInVain = async () => {
      const orders = Array.from({ length: 20 }, () => aDraw({ counters }));
      lost.push(...orders);
      return Promise.all(orders.map((order) => failureOf(store.ledger.draw(order))));
    };
    for (const { message, mayHaveHappened } of await drawInVain()) assert.ok(mayHaveHappened, message);
    const refusedFrom = performance.now();
    let tried = 0;
    for (let round = 0; round < 4; round += 1)
      tried += (await drawInVain()).filter(({ mayHaveHappened }) => mayHaveHappened).length;
    assert.ok(tried <= 1 + (performance.now() - refusedFrom) / 200, `${tried} were tried`);
    // The breaker is open: refused at once, and nothing piles up in the socket.
    await until(async () => {
      const order = aDraw({ counters });
      lost.push(order);
      return (await failureOf(store.ledger.draw(order))).tookMs < 50;
    });
    redis.signal('SIGCONT');
    const more = await recovers(store);
    const { ledger } = patient;
    await Promise.all(lost.map((order) => ledger.cancelDraw(order)));
    const before = Number(await usedOf(ledger, counters));
    await Promise.all(lost.map(async (order) => assert.rejects(ledger.draw(order), StoreUnavailable)));
    assert.equal(Number(await usedOf(ledger, counters)), before);
    assert.equal(await usedOf(ledger, counters, 'other'), '0');
    assert.equal(before, 1 + more);
  });

  test('a Redis that is restarted is found again, with the usage that it kept', async (t) => {
    const redis = await startRedisServer(t, { args: durable });
    const store = await openAt(t, redis.url);
    await store.ledger.draw(aDraw({ counters, want: 7 }));
    await redis.stop();
    await until(async () => (await failureOf(store.ledger.draw(aDraw({ counters })))).tookMs < 50);
    assert.equal((await failureOf(store.ledger.draw(aDraw({ counters })))).mayHaveHappened, false);
    await assert.rejects(store.ping(), /Redis is not connected/);
    await redis.start();
    const more = await recovers(store);
    await store.ping();
    assert.equal(Number(await usedOf(store.ledger, counters)), 7 + more);
  });

  test('of a Redis that takes a connection and says nothing it is told where it is', async (t) => {
    const redis = await startRedisServer(t);
    redis.signal('SIGSTOP');
    // By itself the client gives such a connection up a quarter of a second later.
    const store = await openAt(t, redis.url, { deadlineMs: 1_100 });
    const message = `Redis is not connected: 127.0.0.1:${redis.port} does not answer`;
    await assert.rejects(store.ping(), { message, mayHaveHappened: false });
    await assert.rejects(store.keys.readKey('k1'), { message });
  });

  for (const { scheme, path, says } of misread) {
    test(`of a plain Redis that is addressed as ${scheme} it is told that it is none`, async (t) => {
      const { port } = await startRedisServer(t);
      const store = await openAt(t, `${scheme}://127.0.0.1:${port}${path}`);
      await assert.rejects(store.ping(), { message: says });
    });
  }

  for (const [scheme, what] of [
    ['rediss', ''],
    ['rediss+cluster', 'cluster '],
  ]) {
    test(`of what takes connections and says nothing the same is told however often it is tried: ${scheme}`, async (t) => {
      let tries = 0;
      const mute = createServer((client) => {
        tries += 1;
        client.on('error', () => undefined);
      });
      const port = await listen(t, mute);
      const store = await openAt(t, `${scheme}://127.0.0.1:${port}`, { deadlineMs: DEADLINE_MS });
      const message = `Redis is not connected: ${what}127.0.0.1:${port} (asked in TLS) does not answer`;
      await until(async () => {
        await assert.rejects(store.ping(), { message, isTemporary: true });
        return tries > 2;
      });
    });
  }

  test('a store that is opened before its Redis runs works as soon as it does', async (t) => {
    const redis = await startRedisServer(t);
    await redis.stop();
    const store = await openAt(t, redis.url);
    const failure = await failureOf(store.ledger.draw(aDraw({ counters })));
    assert.match(failure.message, /cannot be reached \(ECONNREFUSED\)/);
    assert.equal(failure.mayHaveHappened, false);
    await redis.start();
    await recovers(store);
  });

  test('a Redis that stays a replica is not connected to without a rest', async (t) => {
    const { redis, store } = await ownRedis(t);
    await redis.say('REPLICAOF', '127.0.0.1', '1');
    let asked = 0;
    const connections = async (): Promise<number> => {
      asked += 1;
      const stats = await redis.say('INFO', 'stats');
      return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]) - asked;
    };
    const before = await connections();
    const startedAt = performance.now();
    await until(async () => {
      await failureOf(store.ledger.draw(aDraw({ counters })));
      return (await connections()) >= before + 4;
    });
    assert.ok(performance.now() - startedAt > 1000, 'one at once, and then two a second');
    await redis.say('REPLICAOF', 'NO', 'ONE');
    await recovers(store);
  });

  test('whoever lets a call take its time waits as long for the first connection', async (t) => {
    const redis = await startRedisServer(t);
    const proxy = await startTcpProxy(t, redis.port);
    // Two answers come before the connection is ready.
    proxy.answers = { lateByMs: 600 };
    const store = await openAt(t, `redis://127.0.0.1:${proxy.port}`);
    await store.ping();
  });

  test('a database that cannot be chosen is an outage, and never another database', async (t) => {
    const redis = await startRedisServer(t);
    const beyond = await openAt(t, `${redis.url}/99`);
    const failure = await failureOf(beyond.ledger.draw(aDraw({ counters })));
    assert.match(failure.message, /has no database of this number/);

    const store = await openAt(t, `${redis.url}/3`);
    const key = aKey();
    await store.keys.changeKey({ from: undefined, to: key, note: aNote() });
    const findKey = () => store.keys.findKey(key.secrets[0]?.digest ?? '');
    assert.ok(await findKey());
    await redis.say('ACL', 'SETUSER', 'default', '-select');
    await redis.say('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until(async () => {
      const [outcome] = await Promise.allSettled([findKey()]);
      if (outcome.status === 'fulfilled') assert.ok(outcome.value, 'the key is unknown');
      return (
        outcome.status === 'rejected' &&
        String(outcome.reason).includes('not permit our user the command select')
      );
    });
    await redis.say('ACL', 'SETUSER', 'default', '+select');
    await recovers(store);
    assert.ok(await findKey());
    assert.doesNotMatch(await redis.say('INFO', 'keyspace'), /db0/);
  });

  test('no call waits for the answer to another one', async (t) => {
    const { redis, proxy, store } = await proxiedRedis(t);
    await recovers(store, 'warm');
    proxy.answers = 'drop';
    const isDrawn = async (keyId: string): Promise<boolean> =>
      (await redis.say('EXISTS', nameKeys('gatehouse:', keyId).counter(counters[0]!))).includes('1');
    for (const keyId of ['first', 'second']) {
      store.ledger.draw(aDraw({ counters, keyId })).catch(() => undefined);
      // When the first has failed for want of an answer, the second would no longer wait for it.
      await until(() => isDrawn(keyId), { within: 8_000 });
    }
  });

  test('a feed that was empty, and was cut while nobody looked, says that changes were missed', async (t) => {
    const { redis, proxy, store } = await proxiedRedis(t);
    const events: KeyEvent[] = [];
    t.after(store.keys.watch((event) => events.push(event)));
    await until(() => events.length > 0);
    events.length = 0;
    proxy.answers = 'drop';
    proxy.cutConnections();
    await redis.say('EVAL', overfill, 1, feed);
    proxy.answers = 'pass';
    proxy.cutConnections();
    const told = () => events.filter(({ kind }) => kind !== 'added'); // which a reading that failed says too
    await until(() => told().length > 0);
    assert.deepEqual(told(), [{ kind: 'missed' }]);
  });

  test('a Redis that comes back empty is told of, once each time, and never one that was empty or kept all', async (t) => {
    const redis = await startRedisServer(t, { args: durable });
    const lost: { since: number; until: number }[] = [];
    const store = await openAt(t, redis.url, { onSetBack: (told) => lost.push(told) });
    const heard: KeyEvent[] = [];
    t.after(store.keys.watch((event) => heard.push(event)));
    /** The feed has been read since. */
    const isHeard = async (id: string): Promise<void> => {
      await recovers(store);
      const before = heard.length;
      await store.keys.changeKey({ from: undefined, to: aKey({ id }), note: aNote() });
      await until(() => heard.slice(before).some(({ kind }) => kind !== 'missed'));
    };
    await until(() => heard.length > 0);
    await isHeard('first');
    await redis.stop();
    await redis.start();
    await isHeard('second');
    assert.equal(lost.length, 0);
    const refill = "redis.call('FLUSHALL') redis.call('XADD', KEYS[1], '*', 'key', '')";
    for (const [nth, emptied] of [['FLUSHALL'], ['EVAL', refill, 1, feed], ['FLUSHALL']].entries()) {
      await redis.say(...emptied);
      await until(() => lost.length > nth);
      await isHeard('first');
      await isHeard('second');
      assert.equal(lost.length, nth + 1);
      assert.equal(lost[nth]?.since, 0);
    }
  });

  test('a Redis that comes back with older data is told of with what it lacks, and never one whose feed was cut', async (t) => {
    const redis = await startRedisServer(t);
    const lost: { since: number; until: number }[] = [];
    const store = await openAt(t, redis.url, { onSetBack: (told) => lost.push(told) });
    const heard = await hearChanges(t, store.keys);
    /** When a key was made, once that has been read. */
    const make = async (id: string): Promise<number> => {
      heard.length = 0;
      assert.equal(await store.keys.changeKey({ from: undefined, to: aKey({ id }), note: aNote() }), 'done');
      await until(() => heard.some(({ kind }) => kind === 'added'));
      heard.length = 0;
      return newest();
    };
    const newest = async (): Promise<number> =>
      Number(/(\d+)-\d+/.exec(await redis.say('XREVRANGE', feed, '+', '-', 'COUNT', 1))?.[1]);
    const missed = () => heard.some(({ kind }) => kind === 'missed');

    const kept = await make('kept');
    await redis.say('SAVE');
    const forgotten = await make('forgotten');
    await redis.stop();
    await redis.start();
    await until(missed);
    assert.deepEqual(lost, [{ since: kept, until: forgotten }]);

    // Another change comes after the loss, before anybody looks: the feed does not end before where it was read to.
    const loseNewest = async (): Promise<void> => {
      const lose = `local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1][1]
        redis.call('XDEL', KEYS[1], last) redis.call('XADD', KEYS[1], '*', 'key', 'k')`;
      await redis.say('EVAL', lose, 1, feed);
      await until(missed);
    };
    const again = await make('again');
    await loseNewest();
    assert.deepEqual(lost.slice(1), [{ since: kept, until: again }]);

    heard.length = 0;
    await redis.say('EVAL', overfill, 1, feed);
    await until(missed);
    assert.equal(lost.length, 2);

    await make('last');
    await loseNewest();
    assert.equal(lost.length, 3);
    assert.notEqual(lost[2]?.since, 0);
  });

  for (const answer of ['$-1', ':1', '+well', '*0', '*1\r\n$-1']) {
    test(`what answers ${JSON.stringify(answer)} to everything ends no process`, async (t) => {
      let asked = 0;
      const port = await startFake(t, (_command, socket) => {
        asked += 1;
        socket.write(`${answer}\r\n`);
      });
      const { keys } = await openAt(t, `redis://127.0.0.1:${port}`);
      t.after(keys.watch(() => undefined));
      // Two connections say something when they are made; and the feed is asked for again and again.
      await until(() => asked > 8);
    });
  }

  test('of a program that is no Redis it is told that it speaks another protocol', async (t) => {
    const port = await startFake(t, (_command, socket) => {
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const store = await openAt(t, `redis://127.0.0.1:${port}`);
    await until(async () => (await reasonOf(store.probe())).endsWith('answers in another protocol'));
  });

  for (const answer of ['$-1', '>2\r\n+subscribe\r\n$-1']) {
    test(`an answer that nobody asked for (${JSON.stringify(answer)}) ends its connection, and no process`, async (t) => {
      const connections = new Set<Socket>();
      const port = await startFake(t, (command, socket) => {
        connections.add(socket);
        greet(command, socket);
        socket.write(`${answer}\r\n`);
      });
      const { keys } = await openAt(t, `redis://127.0.0.1:${port}`);
      t.after(keys.watch(() => undefined));
      await until(() => connections.size > 4);
    });
  }

  test('a draw whose answer is lost may have happened, and cancelling it gives its units back', async (t) => {
    const redis = await startRedisServer(t);
    const proxy = await startTcpProxy(t, redis.port);
    const { ledger } = await openAt(t, redis.url);
    const store = await openHasty(t, `redis://127.0.0.1:${proxy.port}`);
    await ledger.draw(aDraw({ counters, want: 3 }));
    proxy.answers = 'drop';
    const order = aDraw({ counters, want: 50 });
    const failure = await failureOf(store.ledger.draw(order));
    assert.equal(failure.mayHaveHappened, true);
    assert.doesNotMatch(failure.whole(), new RegExp(`${order.id}|evalsha|redis\\.call`));
    proxy.answers = 'pass';
    await recovers(store, 'other');
    await until(async () => (await usedOf(ledger, counters)) === '53', { what: 'it did happen' });
    await ledger.cancelDraw(order);
    assert.equal(await usedOf(ledger, counters), '3');
  });

  test('a deadline of seconds is waited for, although a connection is quiet meanwhile', async (t) => {
    const { proxy, store } = await proxiedRedis(t, openAt, { deadlineMs: 30_000 });
    await store.ledger.draw(aDraw({ counters }));
    proxy.answers = { lateByMs: 1_500 };
    assert.equal((await store.ledger.draw(aDraw({ counters }))).kind, 'drawn');
    // A connection is made as patiently.
    proxy.cutConnections();
    await until(async () => (await reasonOf(store.ledger.draw(aDraw({ counters })))) === '');
  });

  test('a Redis that does not answer is told as that, also once its connection is given up', async (t) => {
    const { redis, store } = await ownRedis(t, openHasty);
    redis.signal('SIGSTOP');
    const silent = /(?:^|: )Redis did not answer within \d+ ms$/;
    await until(async () => {
      const flood = Array.from({ length: 20 }, () => failureOf(store.ledger.draw(aDraw({ counters }))));
      const messages = (await Promise.all(flood)).map(({ message }) => message);
      for (const message of messages) assert.match(message, silent);
      return messages.includes('Redis is not connected: Redis did not answer within 1000 ms');
    });
    redis.signal('SIGCONT');
    await recovers(store);
  });

  test('a connection that Redis closes is told as that, whatever has failed before', async (t) => {
    const { proxy, store } = await proxiedRedis(t, openAt, { deadlineMs: 2_000 });
    await recovers(store);
    proxy.answers = 'drop';
    await failureOf(store.ledger.draw(aDraw({ counters })));
    proxy.answers = 'pass';
    await recovers(store);
    const told = new Set<string>();
    await until(async () => {
      proxy.cutConnections();
      const reasons = [reasonOf(store.ledger.draw(aDraw({ counters })))];
      await setImmediate();
      reasons.push(reasonOf(store.ledger.draw(aDraw({ counters }))));
      for (const reason of await Promise.all(reasons)) told.add(reason);
      return told.has('Redis is not connected: Redis closed the connection');
    });
    for (const reason of told) assert.match(reason, /^$|Redis closed the connection/);
  });

  test('a Redis that still loads its data says so', async (t) => {
    const redis = await startRedisServer(t, {
      args: '--rdbcompression no --key-load-delay 50000 --loading-process-events-interval-bytes 1024'.split(
        ' ',
      ),
    });
    const store = await openAt(t, redis.url);
    await redis.say('EVAL', "for i = 1, 2000 do redis.call('SET', i, string.rep('x', 1000)) end", 0);
    await redis.say('SAVE');
    await redis.stop();
    await redis.start();
    await until(async () => {
      const reason = await reasonOf(store.ledger.draw(aDraw({ counters })));
      return reason === 'Redis is not connected: Redis is loading its data';
    });
    await redis.say('CONFIG', 'SET', 'key-load-delay', 0);
    await recovers(store);
  });

  test('a connection that has died without a word is given up', async (t) => {
    const { proxy, store } = await proxiedRedis(t, openHasty);
    proxy.freezeConnections();
    await failureOf(store.ledger.draw(aDraw({ counters })));
    await recovers(store);
  });

  test('a connection that goes on bringing bytes and never an answer is given up', async (t) => {
    const { proxy, store } = await proxiedRedis(t, openHasty);
    // All that follows on these connections is taken for the rest of a text that is this long.
    proxy.sayToClients('$1000000000\r\n');
    await failureOf(store.ledger.draw(aDraw({ counters })));
    await recovers(store);
  });

  for (const slots of [
    '$-1\r\n',
    '*-1\r\n',
    '*1\r\n$-1\r\n',
    '*1\r\n*2\r\n:0\r\n:9007199254740991\r\n',
    '*1\r\n*2\r\n:-1\r\n:5\r\n',
    '*1\r\n*3\r\n:0\r\n:5\r\n$-1\r\n',
  ]) {
    test(`a cluster that answers ${JSON.stringify(slots)} when it is asked for its slots is an outage`, async (t) => {
      const port = await startFake(t, (command, socket) => {
        if (command === 'cluster') socket.write(slots);
        else greet(command, socket);
      });
      const store = await openAt(t, `redis+cluster://127.0.0.1:${port}`);
      const message = 'Redis is not connected: Redis does not say where the slots of its cluster are';
      await assert.rejects(store.ping(), { message });
    });
  }

  test('a command ends although it closes a cluster that owes the answer where its slots are', async (t) => {
    const owed = Promise.withResolvers<string>();
    const port = await startLoneNode(t, () => owed.resolve(''));
    const config = {
      store: `redis+cluster://127.0.0.1:${port}`,
      upstreams: { a: { targets: ['http://h'] } },
      versions: { v1: { upstream: 'a' } },
      routes: [{ path: '/v1/x', methods: ['GET'] }],
    };
    const file = writeTemporary(t, JSON.stringify(config));
    const { code, stderr } = await runCli(['keys', 'import', '-', '--config', file], owed.promise);
    // On a slow machine it says that it waits, too.
    assert.match(
      stderr,
      /^(?:gatehouse: waiting for the store [^\n]+\n)?gatehouse: there was no key to import\n$/,
    );
    assert.equal(code, 1);
  });
});

test('calls that a replica refuses together close their connection once', async (t) => {
  const { redis, store } = await ownRedis(t);
  const warnings: string[] = [];
  const note = ({ name }: Error): number => warnings.push(name);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  await redis.say('REPLICAOF', '127.0.0.1', '1');
  // Draws would share calls, and their answers.
  const refused = Array.from({ length: 30 }, () => failureOf(store.ledger.leave('key', 'place')));
  for (const { message } of await Promise.all(refused)) assert.match(message, /read-only replica/);
  await redis.say('REPLICAOF', 'NO', 'ONE');
  await recovers(store);
  // Node warns of the listeners that pile up.
  assert.deepEqual(warnings, []);
});

test('SCRIPT FLUSH is not noticed, not even by calls in one pipeline', async (t) => {
  const { redis, store } = await ownRedis(t);
  for (let round = 0; round < 3; round += 1) {
    await redis.say('SCRIPT', 'FLUSH');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.ledger.draw(aDraw({ counters }))),
    );
    assert.ok(answers.every((answer) => answer.kind === 'drawn'));
  }
  assert.equal(await usedOf(store.ledger, counters), '60');
});

for (const [setting, ill, says] of [
  ['maxmemory', 1, /^Redis has no memory left/],
  ['min-replicas-to-write', 3, /^Redis has too few replicas/],
] as const) {
  test(`a Redis that refuses to write (${setting}) finds keys, counts no draw and notes nothing, until it is well again`, async (t) => {
    const { redis, store } = await ownRedis(t);
    const key = aKey();
    await store.keys.changeKey({ from: undefined, to: key, note: aNote() });
    await store.ledger.draw(aDraw({ counters }));
    await redis.say('CONFIG', 'SET', setting, ill);
    for (let nth = 0; nth < 10; nth += 1) {
      const failure = await failureOf(store.ledger.draw(aDraw({ counters })));
      assert.match(failure.message, says);
      assert.equal(failure.mayHaveHappened, false);
    }
    assert.match((await failureOf(store.keys.addAudit(aNote()))).message, says);
    assert.ok(await store.keys.findKey(key.secrets[0]?.digest ?? ''));
    await redis.say('CONFIG', 'SET', setting, 0);
    const more = await recovers(store);
    assert.equal(Number(await usedOf(store.ledger, counters)), 1 + more);
  });
}

test('a Redis that is busy with a script that does not end fails within the deadline and recovers', async (t) => {
  const redis = await startRedisServer(t, { args: ['--lua-time-limit', '20'] });
  const store = await openAt(t, redis.url);
  await store.ledger.draw(aDraw({ counters }));
  const loop = redis.say('EVAL', 'while true do end', 0);
  await until(async () => /busy with a script/.test(await reasonOf(store.ledger.draw(aDraw({ counters })))));
  await redis.say('SCRIPT', 'KILL');
  assert.match(await loop, /^-/);
  await recovers(store);
});

test('a wrong or missing password is named, and never told', async (t) => {
  const redis = await startRedisServer(t, { args: ['--requirepass', 'swordfish'] });
  const right = await openAt(t, `redis://:swordfish@127.0.0.1:${redis.port}`);
  assert.equal((await right.ledger.draw(aDraw({ counters }))).kind, 'drawn');
  const cases = [
    { url: redis.url, says: /wants a password/ },
    { url: `redis://:catfish@127.0.0.1:${redis.port}`, says: /does not accept the user or password/ },
    { url: `redis://catfish:catfish@127.0.0.1:${redis.port}`, says: /does not accept the user or password/ },
  ];
  for (const { url, says } of cases) {
    const store = await openAt(t, url);
    const failure = await failureOf(store.ledger.draw(aDraw({ counters })));
    assert.match(failure.message, says);
    assert.equal(failure.mayHaveHappened, false);
    assert.doesNotMatch(failure.whole(), /fish/);
  }
});

test('the calls of one turn leave in one write', async (t) => {
  const client = new Redis((await startRedisServer(t)).port, '127.0.0.1');
  const link = createLink(client, { deadlineMs: 10_000, where: 'here' });
  t.after(() => link.close());
  await firstConnection(client, 10_000);
  const before = client.stream.bytesWritten - client.stream.writableLength;
  const answers = Array.from({ length: 3 }, () => link.ask((redis) => redis.ping()));
  assert.equal(client.stream.bytesWritten - client.stream.writableLength, before, 'nothing has left yet');
  assert.deepEqual(await Promise.all(answers), ['PONG', 'PONG', 'PONG']);
  assert.equal(client.stream.writableCorked, 0);
});

test('TLS is spoken with rediss, and only to a server that the authorities vouch for', async (t) => {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
  const { url } = await startTlsRedis(t, {
    cert: readFileSync(fixture('server.pem'), 'utf8'),
    key: readFileSync(fixture('server-key.pem'), 'utf8'),
  });
  const trusting = await openAt(t, `${url}?ca=${fixture('server.pem')}`);
  assert.equal((await trusting.ledger.draw(aDraw({ counters }))).kind, 'drawn');
  const wary = await openAt(t, url);
  assert.match((await failureOf(wary.ledger.draw(aDraw({ counters })))).message, /SELF_SIGNED/);
  await assert.rejects(
    openAt(t, `${url}?ca=/nowhere.pem`),
    /the file \/nowhere\.pem of its ca cannot be read: there is no such file/,
  );
  await assert.rejects(
    openAt(t, `${url}?ca=${fixture('server-key.pem')}`),
    /server-key\.pem of its ca is not PEM certificates/,
  );
});

test('a server that has certificates for several names is told which is meant', async (t) => {
  const [other, meant] = [makeCertificate(t, ['DNS:elsewhere.test']), makeCertificate(t, ['DNS:localhost'])];
  const { url } = await startTlsRedis(t, {
    ...other,
    SNICallback: (name, answer) => answer(null, createSecureContext(name === 'localhost' ? meant : other)),
  });
  const ca = join(tempFolder(t), 'ca.pem');
  writeFileSync(ca, meant.cert);
  const store = await openAt(t, `${url.replace('127.0.0.1', 'localhost')}?ca=${ca}`);
  assert.equal((await store.ledger.draw(aDraw({ counters }))).kind, 'drawn');
});

test('a new authority in the file is trusted without a restart, and half a file changes nothing', async (t) => {
  const [old, fresh] = [makeCertificate(t, ['IP:127.0.0.1']), makeCertificate(t, ['IP:127.0.0.1'])];
  const redis = await startTlsRedis(t, old);
  const ca = join(tempFolder(t), 'ca.pem');
  writeFileSync(ca, old.cert);
  const store = await openAt(t, `${redis.url}?ca=${ca}`);
  assert.equal((await store.ledger.draw(aDraw({ counters }))).kind, 'drawn');
  writeFileSync(ca, old.cert + fresh.cert);
  redis.present(fresh);
  await recovers(store);
  writeFileSync(ca, fresh.cert.slice(0, 200));
  redis.present(fresh);
  await recovers(store);
});

test('a Redis that evicts is told of with its policy, once, and none that does not', async (t) => {
  const redis = await startRedisServer(t);
  const told: string[] = [];
  const options = { onEvicting: (policy: string) => void told.push(policy) };
  const store = await openAt(t, redis.url, options);
  const connectAnew = async (maxmemory: string, policy: string): Promise<void> => {
    await redis.say('CONFIG', 'SET', 'maxmemory', maxmemory);
    await redis.say('CONFIG', 'SET', 'maxmemory-policy', policy);
    await redis.say('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await recovers(store);
  };
  await connectAnew('100mb', 'noeviction');
  await connectAnew('0', 'allkeys-lru');
  assert.deepEqual(told, []);
  await connectAnew('100mb', 'volatile-ttl');
  await connectAnew('100mb', 'volatile-ttl');
  assert.deepEqual(told, ['volatile-ttl']);
  await connectAnew('100mb', 'allkeys-lru');
  assert.deepEqual(told, ['volatile-ttl', 'allkeys-lru']);
});

test('usage that cannot be set in all of its counters is set in none', async (t) => {
  const { redis, store } = await ownRedis(t);
  const [one, two] = [aCounter({ name: 'one' }), aCounter({ name: 'two' })];
  await store.ledger.draw(aDraw({ counters: [one] }));
  await redis.say('SET', nameKeys('gatehouse:', 'key').counter(two), 'junk');
  assert.match(
    (await failureOf(store.ledger.setUsage({ keyId: 'key', counters: [one, two], spent: 7 }))).message,
    /another program/,
  );
  assert.equal(await usedOf(store.ledger, [one]), '1');
});

test('what another program left under one of our names fails alone', async (t) => {
  const { redis, store } = await ownRedis(t);
  const names = nameKeys('gatehouse:', 'key');
  const [first] = counters;
  assert.ok(first);
  for (const name of [names.counter(first), names.rate('rate'), names.places()]) {
    await redis.say('XADD', name, '*', 'somebody', 'else');
  }
  const broken = [
    () => store.ledger.draw(aDraw({ counters: [aCounter({ name: 'fine' }), ...counters] })),
    () => store.ledger.readUsage('key', counters),
    () => store.ledger.takeCells({ keyId: 'key', name: 'rate', intervalMs: 1, burst: 1, want: 1 }),
    () => store.ledger.enter({ keyId: 'key', placeId: 'p', limit: 1, expiresInMs: 1_000 }),
    () => store.ledger.leave('key', 'p'),
  ];
  for (let round = 0; round < 5; round += 1) {
    for (const call of broken) {
      const failure = await failureOf(call());
      assert.match(failure.message, /another program/);
      assert.equal(failure.mayHaveHappened, false);
    }
  }
  assert.equal(await usedOf(store.ledger, [aCounter({ name: 'fine' })]), '0');
  assert.equal((await store.ledger.draw(aDraw({ counters, keyId: 'other' }))).kind, 'drawn');
});

test('a change of keys that finds something of another program under one of the names it needs is not begun', async (t) => {
  const redis = await startRedisServer(t);
  const { keys } = await openAt(t, redis.url);
  const from = aKey();
  assert.equal(await keys.changeKey({ from: undefined, to: from, note: aNote() }), 'done');
  const everything = `local names = redis.call('KEYS', '*') table.sort(names)
    for at, name in ipairs(names) do names[at] = name .. redis.sha1hex(redis.call('DUMP', name)) end return names`;
  const secret = `secret:${Buffer.from(from.secrets[0]?.digest ?? '', 'hex').toString('base64url')}`;
  const added = [
    aKey({ id: 'new', secrets: [aSecret({ digest: digestOf('new') })] }),
    aKey({ id: 'next', secrets: from.secrets }),
  ];
  for (const name of ['ids', 'audit', 'changes', secret].map((what) => `gatehouse:{keys}:${what}`)) {
    await redis.say('RENAME', name, 'aside');
    await redis.say('RPUSH', name, 'x');
    const before = await redis.say('EVAL', everything, 0);
    const changes = [
      () => keys.changeKey({ from, to: { ...from, version: 2 }, note: aNote() }),
      () => keys.addKeys(added, aNote()),
    ];
    for (const change of changes) {
      const failure = await failureOf(change());
      assert.match(failure.message, /another program/);
      assert.equal(failure.mayHaveHappened, false);
      assert.equal(await redis.say('EVAL', everything, 0), before);
    }
    await redis.say('RENAME', 'aside', name);
  }
});

for (const used of ['abc', '', '-5', 'nan', '1e300']) {
  test(`a counter of ${JSON.stringify(used)} is refused, not taken for an unspent quota, until it is set`, async (t) => {
    const { redis, ledger } = await ownRedis(t);
    const drawn = aDraw({ counters, need: 4, want: 4 });
    await ledger.draw(drawn);
    const name = nameKeys('gatehouse:', 'key').counter(counters[0]!);
    await redis.say('HSET', name, 'used', used);
    const calls = [
      () => ledger.draw(aDraw({ counters })),
      () => ledger.charge(someUnits({ counters })),
      () => ledger.giveBack(someUnits({ counters })),
      () => ledger.cancelDraw(drawn),
      () => ledger.readUsage('key', counters),
    ];
    for (const call of calls) {
      const failure = await failureOf(call());
      assert.match(failure.message, /a counter that is no number/);
      assert.equal(failure.mayHaveHappened, false);
    }
    assert.ok((await redis.say('HGET', name, 'used')).endsWith(`\r\n${used}\r\n`), 'nothing was written');
    const set = { keyId: 'key', counters, spent: 0 };
    assert.deepEqual(await ledger.setUsage(set), [{ used: 4, leased: 4 }], 'what is held can be read');
    assert.equal((await ledger.draw(aDraw({ counters, need: 2, want: 2 }))).kind, 'drawn');
    assert.equal(await usedOf(ledger, counters), '6');
  });
}

test('the state of a rate that is none is refused as that, and is no outage', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  for (const state of ['', 'abc', '1 2', '1 2 x', '1 x 2', 'x 1 2', '1 2 3 4']) {
    await redis.say('SET', nameKeys('gatehouse:', 'key').rate('rate'), state);
    const taken = ledger.takeCells({ keyId: 'key', name: 'rate', intervalMs: 1, burst: 1, want: 1 });
    await assert.rejects(
      taken,
      (error) => error instanceof Unreadable && /another program/.test(error.message),
    );
  }
});

test('what somebody else put into a counter beside our fields is passed over', async (t) => {
  const { redis, ledger } = await ownRedis(t);
  const drawn = aDraw({ counters, need: 4, want: 4 });
  await ledger.draw(drawn);
  const name = nameKeys('gatehouse:', 'key').counter(counters[0]!);
  await redis.say('HSET', name, 'foo', 'bar', `h:${drawn.holder}`, 'rubbish');
  assert.deepEqual(await ledger.readUsage('key', counters), [{ used: 4, leased: 0 }]);
  await ledger.cancelDraw(drawn);
  assert.equal(await usedOf(ledger, counters), '0');
});

test('an answer that is not known is told as that, with nothing of its words', async (t) => {
  const port = await startFake(t, (command, socket) => {
    if (command.startsWith('eval')) socket.write('-ERR swordfish\r\n');
    else greet(command, socket);
  });
  const { ledger } = await openAt(t, `redis://127.0.0.1:${port}`);
  const failure = await failureOf(ledger.draw(aDraw({ counters })));
  assert.match(failure.message, /an error that is not known/);
  assert.doesNotMatch(failure.whole(), /swordfish|evalsha/);
});

test('a call that cannot even be sent fails like any other, and ends no process', async (t) => {
  const client = new Redis(await startFake(t, greet), '127.0.0.1');
  const link = createLink(client, { deadlineMs: 10_000, where: 'here' });
  t.after(() => link.close());
  await firstConnection(client, 10_000);
  await failureOf(link.ask(sendNothing));
  await failureOf(link.send('key', sendNothing));
});

test('a connection that is cut in the midst of calls is made anew, and no call is sent twice', async (t) => {
  const { redis, proxy, store } = await proxiedRedis(t);
  const draw = (): Promise<unknown> => store.ledger.draw(aDraw({ counters }));
  // Redis knows the scripts from now on: for one at a time, and for several.
  await draw();
  await Promise.all([draw(), draw()]);
  await redis.say('CONFIG', 'RESETSTAT');
  proxy.answers = 'drop';
  const pending = Array.from({ length: 10 }, () => failureOf(draw()));
  await until(async () => /evalsha:calls=2,/.test(await redis.say('INFO', 'commandstats')));
  proxy.cutConnections();
  for (const failure of await Promise.all(pending)) assert.equal(failure.mayHaveHappened, true);
  proxy.answers = 'pass';
  const more = await recovers(store);
  assert.equal(Number(await usedOf(store.ledger, counters)), 13 + more);
});

test('a Redis that takes no more clients says so', async (t) => {
  const { redis, proxy, store } = await proxiedRedis(t);
  const only = connect(redis.port, '127.0.0.1');
  t.after(() => only.destroy());
  only.write('CONFIG SET maxclients 1\r\n');
  await once(only, 'data');
  proxy.cutConnections();
  await until(async () => {
    const reason = await reasonOf(store.ledger.draw(aDraw({ counters })));
    return reason === 'Redis is not connected: Redis has as many clients as it takes (maxclients)';
  });
  only.write('CONFIG SET maxclients 100\r\n');
  await recovers(store);
});

test('a connection that is cut while it begins to listen for changed keys ends nothing', async (t) => {
  const subscriptions = { seen: 0 };
  const port = await startCutter(t, subscriptions);
  const store = await openAt(t, `redis://127.0.0.1:${port}`);
  t.after(store.keys.watch(() => undefined));
  // The first subscription is taken and cut, the next ones are cut before they are answered. A promise of the client
  // that is rejected and nobody's would end this process as it would end a gateway.
  await until(() => subscriptions.seen >= 4);
});

// --- The scene ---

async function reasonOf(call: Promise<unknown>): Promise<string> {
  return (await outcomeOf(call))?.message ?? '';
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
}

/** A Redis that takes one subscription, and cuts every connection that has sent one. */
async function startCutter(t: TestContext, subscriptions: { seen: number }): Promise<number> {
  return startFake(t, (command, socket) => {
    if (command !== 'subscribe') greet(command, socket);
    else if ((subscriptions.seen += 1) > 1) socket.destroy();
    else socket.end('*3\r\n$9\r\nsubscribe\r\n$21\r\ngatehouse:key-changes\r\n:1\r\n');
  });
}

/** A cluster of one that says once where the slots are, and then never again. */
async function startLoneNode(t: TestContext, onSilence: () => void): Promise<number> {
  let asked = 0;
  const port = await startFake(t, (command, socket) => {
    if (command !== 'cluster') return greet(command, socket);
    asked += 1;
    const slots = `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
    if (asked === 1) socket.write(slots);
    else if (asked === 2) socket.write('$16\r\ncluster_state:ok\r\n');
    else onSilence();
  });
  return port;
}

function sendNothing(): never {
  throw new TypeError('no such thing');
}
