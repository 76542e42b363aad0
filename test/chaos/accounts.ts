import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { lifetime } from '../../src/quota/periods.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { until, type Scene } from '../helpers/poll.ts';
import { call, keysOf, openQuotaScene, workPath, type QuotaScene } from '../helpers/quota-scene.ts';
import { createRandom } from '../helpers/random.ts';
import type { RecordedRequest } from '../helpers/recording-upstream.ts';
import { isWell, slotOfKey, startRedisCluster } from '../helpers/redis-cluster.ts';
import { durable, startRedisServer, type RedisServer } from '../helpers/redis-server.ts';
import type { Gateway, LogLine, Yaml } from '../helpers/start-gateway.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';

/*
 * What the log says was charged is what the store has counted, to the unit, whatever upstreams answer, clients do, and is done to the
 * store and the gateways, as long as none of them is killed. It takes CHAOS_SECONDS on each store, 60 by default. The seed is printed,
 * and CHAOS_SEED repeats the order of the faults.
 */
const seconds = Number(process.env['CHAOS_SECONDS'] ?? 60);
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);

const life = { name: 'life', limit: 1_000_000, per: 'lifetime' };
/** Its periods end all the time, with units of it held. */
const second = { name: 'second', limit: 40, per: 'second' };
const plans = {
  leased: { quotas: [second, life] },
  strict: { quotas: [second, life], consistency: 'strict' },
  owing: { quotas: [life], onStoreFailure: 'allow' },
};
const keys = ['leased', 'strict', 'owing'] as const;
const pricedPath = '/v1/priced';
const routes = [
  { path: workPath, methods: ['POST'], body: { any: {} } },
  { path: pricedPath, methods: ['POST'], body: { any: {} }, cost: 2, costHeader: 'X-Cost' },
];
const callers = 16;

type Faults = Readonly<Record<string, () => Promise<unknown>>>;

for (const store of ['sqlite', 'redis', 'cluster'] as const) {
  test(
    `${seconds} s of chaos on ${store} count what was charged and nothing else`,
    { timeout: seconds * 2000 + 120_000 },
    async (t) => {
      t.diagnostic(`seed ${seed}`);
      const random = createRandom(seed);
      const config = { plans, routes, keys: keys.flatMap((key) => keysOf(key, key)) };
      const { scene, faults: ofStore, recovers } = await openScene(t, store, config);
      scene.upstream.handler = answer;
      const gateways = await Promise.all([scene.start(), scene.start(), scene.start()]);
      const all = [...gateways];
      const ending = new AbortController();
      t.after(() => ending.abort());
      const calling = Array.from({ length: callers }, () => callOn(gateways, ending.signal));

      const replace = async (): Promise<void> => {
        const victim = gateways.shift();
        const [fresh, exit] = await Promise.all([scene.start(), victim?.stop()]);
        assert.equal(exit?.code, 0);
        gateways.push(fresh);
        all.push(fresh);
      };
      const faults: Faults = {
        ...ofStore,
        'SIGTERM of a gateway': replace,
        'other plans': async () => gateways.forEach(reload),
      };
      const names = Object.keys(faults);
      const end = performance.now() + seconds * 1000;
      while (performance.now() < end) {
        const name = names[Math.floor(random() * names.length)] ?? '';
        await faults[name]?.();
        await pause(random() * 500);
        t.diagnostic(name);
      }
      ending.abort();
      await Promise.all(calling);
      await recovers?.();
      for (const gateway of gateways) assert.equal((await gateway.stop()).code, 0);
      const lines = all.flatMap((gateway) => gateway.logs());
      // On a busy machine a gateway may find no store within its last seconds.
      assert.deepEqual(
        lines.filter(({ msg }) => String(msg).endsWith('what was owed is lost')),
        [],
      );
      for (const key of keys) {
        const charged = lines.reduce((sum, line) => sum + (line['keyId'] === key ? chargeOf(line) : 0), 0);
        assert.equal(await usedOf(scene, key), charged, key);
        t.diagnostic(`${key}: ${charged} units`);
      }
    },
  );
}

/** The store, what can go wrong with it, and the wait for it where it is not there at once after that. */
async function openScene(
  t: Scene,
  store: 'sqlite' | 'redis' | 'cluster',
  config: Yaml,
): Promise<{
  readonly scene: QuotaScene;
  readonly faults: Faults;
  readonly recovers?: () => Promise<unknown>;
}> {
  if (store === 'sqlite') {
    const scene = await openQuotaScene(t, config);
    return { scene, faults: { 'a writer that holds the file': () => holdFile(scene.store) } };
  }
  if (store === 'cluster') {
    const cluster = await startRedisCluster(t);
    const { url, nodes } = cluster;
    const places = new Map(
      keys.map((key) => {
        const slot = slotOfKey(key);
        return [slot, cluster.nodeOf(slot)] as const;
      }),
    );
    const recovers = () => until(async () => (await Promise.all(nodes.map(isWell))).every(Boolean));
    return {
      scene: await openQuotaScene(t, config, url),
      recovers,
      faults: {
        'a node that stops and goes on': () => standStill(pick(nodes)),
        'a node that is killed and started again': async () => {
          const node = pick(nodes);
          await node.stop();
          await pause(Math.random() * 3000);
          await node.start();
        },
        'scripts that a node forgets': () => pick(nodes).say('SCRIPT', 'FLUSH'),
        'a slot that moves': async () => {
          const [slot, from] = pick([...places]);
          const to = pick(nodes.filter((node) => node !== from));
          await recovers();
          await cluster.moveSlot(slot, from, to, () => pause(Math.random() * 1500));
          places.set(slot, to);
        },
      },
    };
  }
  const redis = await startRedisServer(t, { args: durable });
  const proxy = await startTcpProxy(t, redis.port);
  const answers = async (fault: typeof proxy.answers): Promise<void> => {
    proxy.answers = fault;
    await pause(Math.random() * 1500);
    proxy.answers = 'pass';
  };
  return {
    scene: await openQuotaScene(t, config, `redis://127.0.0.1:${proxy.port}`),
    faults: {
      'connections that are cut': async () => proxy.cutConnections(),
      'answers that are lost': () => answers('drop'),
      'answers that come after the deadline': () => answers({ lateByMs: 400 }),
      'scripts that are forgotten': () => redis.say('SCRIPT', 'FLUSH'),
      'no memory': async () => {
        await redis.say('CONFIG', 'SET', 'maxmemory', 1);
        await pause(Math.random() * 1500);
        await redis.say('CONFIG', 'SET', 'maxmemory', 0);
      },
      'a Redis that stops and goes on': () => standStill(redis),
    },
  };
}

async function standStill(redis: RedisServer): Promise<void> {
  redis.signal('SIGSTOP');
  await pause(Math.random() * 1500);
  redis.signal('SIGCONT');
}

async function holdFile(store: string): Promise<void> {
  const database = new DatabaseSync(store.slice('sqlite:'.length));
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  await pause(Math.random() * 1000);
  database.exec('ROLLBACK');
  database.close();
}

/** Has a gateway serve by plans that are new to it, so that what it holds of the others goes back. */
function reload({ configFile, child }: Gateway): void {
  const config = parse(readFileSync(configFile, 'utf8')) as { plans: typeof plans };
  for (const key of keys) for (const quota of config.plans[key].quotas) quota.limit += 1;
  writeFileSync(configFile, stringify(config));
  child.kill('SIGHUP');
}

/** Calls one gateway after another, and sometimes leaves. */
async function callOn(gateways: readonly Gateway[], ending: AbortSignal): Promise<void> {
  while (!ending.aborted) {
    const gateway = pick(gateways);
    const leaves = Math.random() < 0.1;
    const order = { key: pick(keys), path: pick([workPath, pricedPath]), headers: { 'x-do': pick(deeds) } };
    const signal = leaves ? { signal: AbortSignal.timeout(Math.floor(Math.random() * 60)) } : {};
    const refusal = await call(gateway, { ...order, ...signal }).then(
      (one) => one.refusal,
      () => 'lost',
    );
    if (refusal !== undefined) await pause(20);
  }
}

const deeds = ['200', '200', '200', '200 0', '200 1', '200 7', '404', '500 3', 'reset', 'break'];

function answer({ headers }: RecordedRequest, res: ServerResponse): void {
  const [what = '', cost] = (headers['x-do'] ?? '').split(' ');
  setTimeout(() => {
    if (cost !== undefined) res.setHeader('X-Cost', cost);
    if (what === 'reset') res.socket?.resetAndDestroy();
    else if (what !== 'break') res.writeHead(Number(what)).end('ok');
    else res.writeHead(200, { 'Content-Length': 9 }).write('begun', () => res.socket?.resetAndDestroy());
  }, Math.random() * 30);
}

/** As docs/quotas.md adds up the log. */
function chargeOf({ upstream, refusal, status, cut = 'client', cost, route }: LogLine): number {
  if (upstream === undefined || refusal !== undefined || Number(status) >= 500 || cut !== 'client') return 0;
  return Number(cost ?? (route === pricedPath ? 2 : 1));
}

async function usedOf({ store: address }: QuotaScene, key: string): Promise<number | undefined> {
  const store = await openStore(parseStoreAddress(address), { deadlineMs: 2000 });
  const counter = {
    name: life.name,
    limit: life.limit,
    periodStart: lifetime.start,
    periodEnd: lifetime.end,
  };
  try {
    return (await store.ledger.readUsage(key, [counter]))[0]?.used;
  } finally {
    await store.close();
  }
}

function pick<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() * list.length)] as T;
}
