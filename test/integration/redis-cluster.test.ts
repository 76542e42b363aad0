import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createServer } from 'node:tls';
import type { Cluster } from 'ioredis';
import type { RedisAddress } from '../../src/config/config.ts';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import type { DrawOrder } from '../../src/stores/ledger.ts';
import { createClient, firstConnection } from '../../src/stores/redis/client/client.ts';
import { createLink } from '../../src/stores/redis/link.ts';
import { nameKeys, slotOf } from '../../src/stores/redis/names.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { aKey, aNote } from '../helpers/a-key.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { freePort } from '../helpers/free-port.ts';
import { aDraw, usedOf } from '../helpers/ledger-orders.ts';
import { testLedger } from '../helpers/ledger-suite.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { isWell, slotOfKey, startRedisCluster, type RedisCluster } from '../helpers/redis-cluster.ts';
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import { counters, DEADLINE_MS, failureOf, openAt, outcomeOf, recovers } from '../helpers/store-faults.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const cluster = await startRedisCluster({ after });
const freshUrl = (): string => `${cluster.url}?prefix=${randomUUID()}:`;

testLedger({ name: 'a Redis Cluster', address: () => parseStoreAddress(freshUrl()) });

test('a node that evicts is told of', async (t) => {
  const [, node] = cluster.nodes;
  await node?.say('CONFIG', 'SET', 'maxmemory', '100mb');
  await node?.say('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  t.after(() => node?.say('CONFIG', 'SET', 'maxmemory', '0').then(() => undefined));
  const told: string[] = [];
  const options = { onEvicting: (policy: string) => void told.push(policy) };
  await openAt(t, freshUrl(), options);
  await until(() => told.length > 0);
  assert.deepEqual(told, ['allkeys-lru']);
});

test('why a cluster cannot be reached is told', async (t) => {
  const nobody = await openAt(t, `redis+cluster://127.0.0.1:${await freePort()}`);
  await until(async () => (await failureOf(nobody.ping())).message.endsWith('(ECONNREFUSED)'));
});

test('why the nodes that a cluster names cannot be reached is told', async (t) => {
  const certificate = makeCertificate(t, ['DNS:localhost']);
  const ca = join(tempFolder(t), 'ca.pem');
  writeFileSync(ca, certificate.cert);
  let hasAsked = false;
  const server = createServer(certificate, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      const asks = /slots/i.test(String(chunk));
      hasAsked ||= asks;
      socket.write(asks ? slots : '+OK\r\n');
    });
  });
  const port = await listen(t, server);
  // The certificate is not for this address.
  const slots = `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
  const store = await openAt(t, `rediss+cluster://localhost:${port}?ca=${ca}`, {
    deadlineMs: DEADLINE_MS,
  });
  await until(async () => (await failureOf(store.ping())).message.endsWith('(ERR_TLS_CERT_ALTNAME_INVALID)'));
  assert.ok(hasAsked, 'it is for the name in the configuration');
});

test('what a user may not ask a cluster before it is ready is told', async (t) => {
  const asUser = `${cluster.url.replace('//', '//somebody:swordfish@')}?prefix=${randomUUID()}:`;
  const setUser = (...rules: readonly string[]) =>
    Promise.all(cluster.nodes.map((node) => node.say('ACL', 'SETUSER', 'somebody', ...rules)));
  t.after(() => Promise.all(cluster.nodes.map((node) => node.say('ACL', 'DELUSER', 'somebody'))));
  for (const command of ['cluster|slots', 'cluster|info']) {
    await setUser('on', '>swordfish', '~*', '&*', '+@all', `-${command}`);
    const store = await openAt(t, asUser);
    const says = `Redis does not permit our user the command ${command}`;
    await until(async () => (await failureOf(store.ping())).message.endsWith(says));
    await setUser(`+${command}`);
    await until(async () => (await outcomeOf(store.ping())) === undefined);
  }
});

test('a cluster that says it is down when it is connected to is told as that', async (t) => {
  const args = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];
  const { port, ...node } = await startRedisServer(t, { args });
  // Of 16384 slots it serves one.
  await node.say('CLUSTER', 'ADDSLOTS', 0);
  const store = await openAt(t, `redis+cluster://127.0.0.1:${port}`);
  const says = 'Redis is not connected: Redis says that the cluster is down';
  await until(async () => (await failureOf(store.ping())).message === says);
});

test('a node that takes its first slot is connected to before it is asked', async (t) => {
  const args = ['--cluster-enabled', 'yes'];
  const old = await startRedisServer(t, { args });
  const fresh = await startRedisServer(t, { args });
  await old.say('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await until(() => isWell(old));
  await old.say('CLUSTER', 'MEET', '127.0.0.1', fresh.port);
  const store = await openAt(t, `redis+cluster://127.0.0.1:${old.port}`);
  await until(async () => (await outcomeOf(store.ping())) === undefined);
  const id = await cluster.idOf(fresh);
  await until(async () => (await old.say('CLUSTER', 'SETSLOT', 0, 'NODE', id)).startsWith('+OK'));
  await until(async () => (await fresh.say('CLIENT', 'LIST')).includes('name=gatehouse'));
});

test('a node that is stopped fails its own keys in time and leaves the others alone', async (t) => {
  const store = await openAt(t, freshUrl(), { deadlineMs: 2_000 });
  const ill = keyOn(0);
  const well = [keyOn(1), keyOn(2)];
  for (const keyId of [ill, ...well]) await store.ledger.draw(aDraw({ counters, keyId }));
  cluster.nodes[0]?.signal('SIGSTOP');
  t.after(() => cluster.nodes[0]?.signal('SIGCONT'));
  const orders = Array.from({ length: 12 }, () => aDraw({ counters, keyId: ill }));
  for (const order of orders) {
    await failureOf(store.ledger.draw(order));
    for (const keyId of well)
      assert.equal((await store.ledger.draw(aDraw({ counters, keyId }))).kind, 'drawn');
  }
  cluster.nodes[0]?.signal('SIGCONT');
  const more = await recovers(store, ill);
  for (const order of orders)
    await until(async () => (await outcomeOf(store.ledger.cancelDraw(order))) === undefined);
  assert.equal(await usedOf(store.ledger, counters, ill), String(1 + more));
  for (const keyId of well) assert.equal(await usedOf(store.ledger, counters, keyId), '13');
});

test('a probe asks the node that has all keys, whichever others are away', async (t) => {
  const store = await openAt(t, cluster.url, { deadlineMs: 2_000 });
  await store.probe();
  const home = cluster.nodeOf(slotOf('gatehouse:{keys}'));
  const others = cluster.nodes.filter((node) => node !== home);
  t.after(() => cluster.nodes.forEach((node) => node.signal('SIGCONT')));
  for (const node of others) node.signal('SIGSTOP');
  await store.probe();
  for (const node of others) node.signal('SIGCONT');
  home.signal('SIGSTOP');
  await assert.rejects(store.probe(), StoreUnavailable);
});

test('a node that is killed and comes back is found again, with the usage that it kept', async (t) => {
  const store = await openAt(t, freshUrl());
  const keyId = keyOn(1);
  const home = cluster.nodeOf(slotOfKey(keyId));
  await store.ledger.draw(aDraw({ counters, keyId, want: 5 }));
  await home.stop();
  const order = aDraw({ counters, keyId });
  await failureOf(store.ledger.draw(order));
  assert.equal((await store.ledger.draw(aDraw({ counters, keyId: keyOn(2) }))).kind, 'drawn');
  await startAgain(home);
  const more = await recovers(store, keyId);
  await store.ledger.cancelDraw(order);
  assert.equal(await usedOf(store.ledger, counters, keyId), String(5 + more));
});

/** Asks for a key of the first node. `sendBy` has the next calls go there by another node, which sends them on. */
async function askFirstNode(t: TestContext) {
  const terms = { trust: {}, deadlineMs: 10_000 };
  const client = createClient(parseStoreAddress(freshUrl()) as RedisAddress, terms) as Cluster;
  const link = createLink(client, { deadlineMs: terms.deadlineMs, where: 'here' });
  t.after(() => link.close());
  await firstConnection(client, 10_000);
  const [server, other] = cluster.nodes as readonly [RedisServer, RedisServer];
  const node = client.nodes().find(({ options }) => options.port === server.port);
  const key = nameKeys('', keyOn(0)).places();
  const ask = (): Promise<unknown> => link.ask((redis) => redis.get(key));
  assert.ok(node);
  await until(async () => (await outcomeOf(ask())) === undefined);
  return {
    server,
    node,
    ask,
    sendBy: () => (client.slots[slotOf(key)] = [`127.0.0.1:${other.port}`]),
  };
}

test('a call for a node that is away has surely not happened, also if another sends it there', async (t) => {
  const { node, server, ask, sendBy } = await askFirstNode(t);
  await server.stop();
  await until(() => node.status !== 'ready');
  assert.equal((await failureOf(ask())).mayHaveHappened, false);
  sendBy();
  assert.equal((await failureOf(ask())).mayHaveHappened, false);
  await startAgain(server);
  await until(async () => (await outcomeOf(ask())) === undefined);
});

test('a call that finds a node closing its connection is not kept, and has surely not happened', async (t) => {
  const { node, ask } = await askFirstNode(t);
  node.disconnect(true);
  assert.equal((await failureOf(ask())).mayHaveHappened, false);
  await until(async () => (await outcomeOf(ask())) === undefined);
});

test('a call that a lost connection takes along may have happened, also if another sent it there', async (t) => {
  for (const isSentBy of [false, true]) {
    const { node, server, ask, sendBy } = await askFirstNode(t);
    server.signal('SIGSTOP');
    t.after(() => server.signal('SIGCONT'));
    if (isSentBy) sendBy();
    const failure = failureOf(ask());
    await until(() => node.commandQueue.length > 0, { what: 'it is sent there' });
    node.disconnect();
    assert.equal((await failure).mayHaveHappened, true);
    server.signal('SIGCONT');
  }
});

test('a node that dies while a slot moves to it fails the calls for this slot, and ends nothing', async (t) => {
  const prefix = `${randomUUID()}:`;
  const store = await openAt(t, `${cluster.url}?prefix=${prefix}`);
  const keyId = keyOn(0);
  const slot = slotOfKey(keyId);
  const [from, to] = cluster.nodes as readonly [RedisServer, RedisServer];
  await store.ledger.draw(aDraw({ counters, keyId: keyOn(1) }));
  await cluster.beginMove(slot, from, to);
  to.signal('SIGSTOP');
  // None of its names is there any more, so that the first node sends all calls on.
  const orders = Array.from({ length: 3 }, () => aDraw({ counters, keyId }));
  const failures = orders.map((order) => failureOf(store.ledger.draw(order)));
  await to.stop();
  for (const failure of await Promise.all(failures)) assert.match(failure.message, /^Redis /);
  await startAgain(to);
  for (const node of [from, to]) await node.say('CLUSTER', 'SETSLOT', slot, 'STABLE');
  await recovers(store, keyId);
});

test('a slot that moves to another node while its key is drawn from loses nothing and counts nothing twice', async (t) => {
  const prefix = `${randomUUID()}:`;
  // What fails here fails by an answer.
  const store = await openAt(t, `${cluster.url}?prefix=${prefix}`);
  const [keyId = '', neighbour = ''] = keysOn(2);
  const slot = slotOfKey(keyId);
  const [to, , from] = cluster.nodes as readonly [RedisServer, RedisServer, RedisServer];
  const stop = new AbortController();
  t.after(() => stop.abort());
  /** Draws one after another until it is stopped. */
  const drawFrom = (id: string) => {
    const draws = { done: 0, unclear: [] as DrawOrder[], ended: Promise.resolve() };
    draws.ended = (async () => {
      while (!stop.signal.aborted) {
        const order = aDraw({ counters, keyId: id });
        const failure = await outcomeOf(store.ledger.draw(order));
        if (failure === undefined) draws.done += 1;
        else draws.unclear.push(order);
        // A refusal takes no time at all, and sockets want their turn.
        await setImmediate();
      }
    })();
    return draws;
  };
  const moving = [drawFrom(keyId), drawFrom(keyId)];
  const staying = drawFrom(neighbour);
  const drawn = (): number => moving.reduce((sum, { done }) => sum + done, 0);
  await until(() => drawn() > 30);
  await cluster.moveSlot(slot, from, to, async () => {
    // A slot of which a part has moved is tried again for a while, and its neighbours wait for nothing.
    await until(() => moving.every(({ unclear }) => unclear.length > 0));
    const atHalf = staying.done;
    await until(() => staying.done > atHalf + 30);
  });
  const atMove = drawn();
  await until(() => drawn() > atMove + 30);
  stop.abort();
  for (const { ended, unclear } of [...moving, staying]) {
    await ended;
    for (const order of unclear) await store.ledger.cancelDraw(order);
  }
  assert.equal(await usedOf(store.ledger, counters, keyId), String(drawn()));
  assert.equal(await usedOf(store.ledger, counters, neighbour), String(staying.done));
  assert.equal(staying.unclear.length, 0);
  assert.match(await to.say('CLUSTER', 'COUNTKEYSINSLOT', slot), /^:[1-9]/);
});

async function startAgain(node: RedisServer): Promise<void> {
  await node.start();
  await until(() => isWell(node));
}

/** An API key whose slot is served by the node. */
function keyOn(index: number): string {
  return keysOn(index)[0] ?? assert.fail('no such key');
}

/** API keys whose slots, different ones, are served by the node. */
function keysOn(index: number): readonly string[] {
  const ids = Array.from({ length: 50 }, (_, attempt) => `key-${attempt}`);
  return ids.filter((id) => cluster.nodeOf(slotOfKey(id)) === cluster.nodes[index]);
}

test('a slot that stays between two nodes is told as that, and its neighbours are served', async (t) => {
  const store = await openAt(t, freshUrl());
  const moving = keyOn(0);
  const slot = slotOfKey(moving);
  const [from, to] = [cluster.nodeOf(slot), cluster.nodes[1] as RedisServer];
  // They have the same breaker.
  const neighbour = keysOn(0).find((keyId) => slotOfKey(keyId) !== slot);
  assert.ok(neighbour);
  await cluster.beginMove(slot, from, to);
  t.after(async () => {
    for (const node of [from, to]) await node.say('CLUSTER', 'SETSLOT', slot, 'STABLE');
  });
  for (let nth = 0; nth < 10; nth += 1) {
    const failure = await failureOf(store.ledger.draw(aDraw({ counters, keyId: moving })));
    assert.match(failure.message, /Redis is moving the slot/);
    assert.equal(failure.mayHaveHappened, false);
  }
  assert.equal((await store.ledger.draw(aDraw({ counters, keyId: neighbour }))).kind, 'drawn');
});

test('keys live in a cluster, and a change of one is heard', async (t) => {
  const store = await openAt(t, freshUrl());
  const heard: string[] = [];
  t.after(store.keys.watch(({ kind }) => heard.push(kind)));
  const record = aKey();
  await until(async () => {
    const answer = await store.keys
      .changeKey({ from: undefined, to: record, note: aNote() })
      .catch(() => 'away');
    return answer === 'done' || answer === 'exists';
  });
  assert.deepEqual(await store.keys.findKey(record.secrets[0]?.digest ?? ''), record);
  await store.keys.addKeys([aKey(), aKey()], aNote());
  assert.equal((await store.keys.listKeys('', 9)).length, 3);
  await store.keys.addAudit(aNote());
  assert.equal((await store.keys.listAudit(undefined, 9)).length, 3);
  await until(() => heard.includes('added'));
});

test('a key is found while the slot of all keys is moving, whichever half of it has moved', async (t) => {
  const prefix = `${randomUUID()}:`;
  const store = await openAt(t, `${cluster.url}?prefix=${prefix}`);
  const [one, other] = [aKey(), aKey()];
  await store.keys.addKeys([one, other], aNote());
  const slot = slotOf(`${prefix}{keys}`);
  const from = cluster.nodeOf(slot);
  const to = cluster.nodes.find((node) => node !== from);
  assert.ok(to !== undefined);
  await cluster.beginMove(slot, from, to);
  const secret = Buffer.from(one.secrets[0]?.digest ?? '', 'hex').toString('base64url');
  for (const half of [`secret:${secret}`, `record:${other.id}`]) {
    const moved = `${prefix}{keys}:${half}`;
    assert.match(await from.say('MIGRATE', '127.0.0.1', to.port, moved, 0, 5_000), /^\+OK/);
  }
  for (const record of [one, other]) {
    assert.deepEqual(await store.keys.findKey(record.secrets[0]?.digest ?? ''), record);
  }
  await cluster.moveSlot(slot, from, to);
});

test('a cluster that was away at the start is found, and so is one that came back at other addresses', async (t) => {
  const other = await startRedisCluster(t);
  await Promise.all([stopAll(cluster), stopAll(other)]);
  const url = `${cluster.url},${other.url.slice('redis+cluster://'.length)}?prefix=${randomUUID()}:`;
  const store = await openAt(t, url);
  await failureOf(store.ledger.draw(aDraw({ counters })));
  await startAll(other);
  await recovers(store);
  await stopAll(other);
  await failureOf(store.ledger.draw(aDraw({ counters })));
  await startAll(cluster);
  await recovers(store);
});

test('who listens for changed keys goes to another node when its own dies, and tries with a pause while all are away', async (t) => {
  const first = await watchKeys(t);
  await (await listenedTo(first)).stop();
  await listenedTo(first);
  await stopAll(cluster);
  const second = await watchKeys(t);
  const countTries = countConnections(t);
  const counted = performance.now() + 1_000;
  await until(() => performance.now() > counted);
  const tries = countTries();
  assert.ok(tries < 200, `${tries} connections in a second`);
  await startAll(cluster);
  for (const channel of [first, second]) await listenedTo(channel);
});

/** Listens for changed keys, with a store of its own. Resolves to the channel. */
async function watchKeys(t: TestContext): Promise<string> {
  const prefix = `${randomUUID()}:`;
  const { keys } = await openAt(t, `${cluster.url}?prefix=${prefix}`);
  t.after(keys.watch(() => undefined));
  return `${prefix}key-changes`;
}

/** The node that has somebody who listens on the channel, as soon as there is one. */
async function listenedTo(channel: string): Promise<RedisServer> {
  const isListenedTo = async (node: RedisServer): Promise<boolean> =>
    (await node.say('PUBSUB', 'NUMSUB', channel).catch(() => '')).endsWith(':1\r\n');
  return until(async () => {
    const answers = await Promise.all(cluster.nodes.map(isListenedTo));
    return cluster.nodes[answers.indexOf(true)];
  });
}

/** Counts all connections that this process begins from now on. */
function countConnections(t: TestContext): () => number {
  let count = 0;
  const add = (): number => (count += 1);
  subscribe('net.client.socket', add);
  t.after(() => unsubscribe('net.client.socket', add));
  return () => count;
}

async function stopAll({ nodes }: RedisCluster): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()));
}

async function startAll({ nodes }: RedisCluster): Promise<void> {
  await Promise.all(nodes.map((node) => node.start()));
}
