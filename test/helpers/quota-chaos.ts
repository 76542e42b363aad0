import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { lifetime } from '../../src/quota/periods.ts';
import type { Counter, Ledger, Usage } from '../../src/stores/ledger.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { until, type Scene } from './poll.ts';
import { call, keysOf, openQuotaScene, type Answer, type QuotaScene } from './quota-scene.ts';
import { slotOfKey, startRedisCluster } from './redis-cluster.ts';
import { durable, startRedisServer, type RedisServer } from './redis-server.ts';
import type { Gateway } from './start-gateway.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** Several gateways on one store. */
export interface Chaos {
  /** Has callers who never rest spend the quota of a key, one key at a time. */
  spendWith(key: string): Spending;
  /** Stops the gateways, so that they give back what they hold. */
  stop(): Promise<void>;
  /** What the store has counted. */
  usage(key: string): Promise<Usage>;
  /** Sets what the key has spent, as another process does, and tells its usage from then on. */
  setUsage(key: string, spent: number): Promise<Usage>;
}

/** The callers of one key, with everything that can be done to the gateways and the store meanwhile. */
export interface Spending {
  readonly callers: Callers;
  /** What can go wrong, by name. Each resolves when calls are served again. */
  readonly faults: Readonly<Record<string, () => Promise<void>>>;
  /** Ends one gateway with SIGKILL, and puts none in its place. */
  crash(): Promise<void>;
  /** Requests of the key that reached the upstream: none of them was ever given back. */
  arrived(): number;
  /** Waits until the quota is used up and nothing more arrives, and checks that it was never overspent. */
  spend(): Promise<void>;
}

export interface ChaosOptions {
  readonly store: 'sqlite' | 'redis' | 'cluster';
  /** Of each key. */
  readonly limits: Readonly<Record<string, number>>;
  readonly gateways: number;
  readonly callers: number;
}

/** Starts them; each key has one quota for life, so that no period ends meanwhile. */
export async function startChaos(t: Scene, options: ChaosOptions): Promise<Chaos> {
  const redis = options.store === 'redis' ? await startRedisServer(t, { args: durable }) : undefined;
  const cluster = options.store === 'cluster' ? await startRedisCluster(t) : undefined;
  const proxy = redis === undefined ? undefined : await startTcpProxy(t, redis.port);
  const plans = Object.fromEntries(
    Object.entries(options.limits).map(([key, limit]) => [
      `of-${key}`,
      { quotas: [{ name: 'life', limit, per: 'lifetime' }] },
    ]),
  );
  const keys = Object.keys(options.limits).flatMap((key) => keysOf(`of-${key}`, key));
  const url = cluster?.url ?? (proxy && `redis://127.0.0.1:${proxy.port}`);
  const scene = await openQuotaScene(t, { plans, keys }, url);
  // Slow enough that there is something left to spend when the faults come.
  scene.upstream.handler = (_request, res) => setTimeout(() => res.end('ok'), 60);
  const start = (): Promise<Gateway> => scene.start();
  const gateways = await Promise.all(Array.from({ length: options.gateways }, start));

  const limitOf = (key: string): number => options.limits[key] ?? assert.fail(`no key ${key}`);
  const parts = { callers: options.callers, scene, gateways, start, proxy };
  const redisOf = (key: string) => cluster?.nodeOf(slotOfKey(key)) ?? redis;
  const spendWith = (key: string): Spending =>
    spendingOf(t, { ...parts, key, limit: limitOf(key), redis: redisOf(key) });

  async function ask(
    key: string,
    question: (ledger: Ledger, counters: readonly Counter[]) => Promise<unknown>,
  ) {
    const store = await openStore(parseStoreAddress(scene.store), { deadlineMs: 2000 });
    try {
      const counters = [
        { name: 'life', limit: limitOf(key), periodStart: lifetime.start, periodEnd: lifetime.end },
      ];
      const [usage] = (await question(store.ledger, counters)) as readonly Usage[];
      return usage ?? assert.fail('no usage');
    } finally {
      await store.close();
    }
  }

  const usage = (key: string) => ask(key, (ledger, counters) => ledger.readUsage(key, counters));
  const setUsage = (key: string, spent: number) =>
    ask(key, (ledger, counters) => ledger.setUsage({ keyId: key, counters, spent }));

  const stop = async (): Promise<void> => void (await Promise.all(gateways.map((gateway) => gateway.stop())));
  return { spendWith, stop, usage, setUsage };
}

interface Parts {
  readonly key: string;
  readonly limit: number;
  readonly callers: number;
  readonly scene: QuotaScene;
  readonly gateways: Gateway[];
  readonly start: () => Promise<Gateway>;
  /** The one that has the key. */
  readonly redis: RedisServer | undefined;
  readonly proxy: TcpProxy | undefined;
}

function spendingOf(
  t: Scene,
  { key, limit, scene, gateways, start, redis, proxy, ...parts }: Parts,
): Spending {
  const callers = startCallers(t, { callers: parts.callers, key, gateways });
  const arrived = (): number =>
    scene.upstream.requests.filter(({ headers }) => headers['x-gatehouse-key-id'] === key).length;
  const successes = (): number => callers.tally.get('200') ?? 0;
  const denied = (): number => callers.tally.get('quota_exhausted') ?? 0;

  async function served(): Promise<void> {
    const before = successes();
    const deniedBefore = denied();
    // What a crash strands never arrives, so that the quota can be used up before the limit has arrived.
    const usedUp = (): boolean => arrived() >= limit || denied() > deniedBefore + parts.callers;
    await until(() => successes() > before + parts.callers || usedUp());
  }

  async function endOne(signal: NodeJS.Signals): Promise<void> {
    const [victim] = gateways.splice(0, 1);
    await victim?.stop(signal);
  }

  /** Takes one gateway out of use, ends it, and puts a new one in its place. */
  async function replace(signal: NodeJS.Signals): Promise<void> {
    await endOne(signal);
    // Nobody is called until the new one serves, which takes seconds: nothing would be left to spend for the faults that follow.
    const others = gateways.splice(0);
    gateways.push(...others, await start());
    await served();
  }

  async function spend(): Promise<void> {
    await until(async () => (await allRefuse(gateways, key)) && (await allRefuse(gateways, key))).catch(
      async (cause: unknown) => {
        const last = await Promise.allSettled(gateways.map((gateway) => call(gateway, { key })));
        const state = { arrived: arrived(), tally: Object.fromEntries(callers.tally), last };
        throw new Error(`a gateway does not say that the quota is used up: ${inspect(state, { depth: 4 })}`, {
          cause,
        });
      },
    );
    await callers.stop();
    assert.ok(arrived() <= limit, `${arrived()} of ${limit} were let through`);
    assert.ok(successes() <= limit);
  }

  const faultsOfStore =
    redis === undefined
      ? { 'a writer that holds the file': () => holdFile(scene, callers, served) }
      : { ...redisFaults(redis, callers, served), ...(proxy && proxyFaults(proxy, callers, served)) };
  const faults = {
    'a gateway that sleeps': () => sleep(gateways, key, served),
    ...faultsOfStore,
    'kill -9 of a gateway': () => replace('SIGKILL'),
    'SIGTERM of a gateway': () => replace('SIGTERM'),
  };
  return { callers, faults, crash: () => endOne('SIGKILL'), arrived, spend };
}

/** False too where a kept connection of a gateway that was replaced is tried once more. */
async function allRefuse(gateways: readonly Gateway[], key: string): Promise<boolean> {
  const answers = await Promise.allSettled(gateways.map((gateway) => call(gateway, { key })));
  return answers.every(
    (answer) => answer.status === 'fulfilled' && answer.value.refusal === 'quota_exhausted',
  );
}

async function sleep(gateways: readonly Gateway[], key: string, served: () => Promise<void>): Promise<void> {
  const [sleeper, ...others] = gateways;
  sleeper?.child.kill('SIGSTOP');
  try {
    if (others[0] !== undefined)
      await until(async () => (await call(others[0] as Gateway, { key })).status < 500);
  } finally {
    sleeper?.child.kill('SIGCONT');
  }
  await served();
}

async function holdFile(scene: QuotaScene, callers: Callers, served: () => Promise<void>): Promise<void> {
  const database = new DatabaseSync(scene.store.slice('sqlite:'.length));
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  try {
    await storeIsMissed(callers);
  } finally {
    database.exec('ROLLBACK');
    database.close();
  }
  await served();
}

function redisFaults(
  redis: RedisServer,
  callers: Callers,
  served: () => Promise<void>,
): Readonly<Record<string, () => Promise<void>>> {
  return {
    'a Redis that stops and goes on': async () => {
      redis.signal('SIGSTOP');
      await storeIsMissed(callers);
      redis.signal('SIGCONT');
      await served();
    },
    'a Redis that is killed and started again': async () => {
      await redis.stop();
      await storeIsMissed(callers);
      await redis.start();
      await served();
    },
    'scripts that Redis forgets': async () => {
      await redis.say('SCRIPT', 'FLUSH');
      await served();
    },
  };
}

function proxyFaults(
  proxy: TcpProxy,
  callers: Callers,
  served: () => Promise<void>,
): Readonly<Record<string, () => Promise<void>>> {
  return {
    'connections to Redis that are cut': async () => {
      proxy.cutConnections();
      await served();
    },
    'answers of Redis that are lost': async () => {
      proxy.answers = 'drop';
      await storeIsMissed(callers);
      proxy.answers = 'pass';
      await served();
    },
    'answers of Redis that come after the deadline': async () => {
      proxy.answers = { lateByMs: 400 };
      await storeIsMissed(callers);
      proxy.answers = 'pass';
      await served();
    },
  };
}

/** Waits until callers feel that the store is away: leases are spent, and requests are answered 503. */
async function storeIsMissed({ tally }: Callers): Promise<void> {
  const missed = (): number => tally.get('quota_unavailable') ?? 0;
  const denied = (): number => tally.get('quota_exhausted') ?? 0;
  const before = missed();
  const deniedBefore = denied();
  await until(() => missed() > before || denied() > deniedBefore + 100);
}

/** People who call one after another, all the time, whatever they are answered. */
interface Callers {
  /** How often each answer came: `200`, or the refusal's code; `lost` when there was none. */
  readonly tally: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Starts them with one key, at whatever gateways there are at the moment. */
function startCallers(
  t: Scene,
  { callers: count, key, gateways }: Pick<Parts, 'callers' | 'key' | 'gateways'>,
): Callers {
  const tally = new Map<string, number>();
  const ending = new AbortController();

  async function callOn(index: number): Promise<void> {
    for (let turn = index; !ending.signal.aborted; turn += 1) {
      const gateway = gateways[turn % gateways.length];
      const outcome = gateway === undefined ? 'nobody' : await outcomeOf(call(gateway, { key }));
      tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      if (outcome !== '200') await pause(100);
    }
  }

  const running = Array.from({ length: count }, (_, index) => callOn(index));
  const stop = async (): Promise<void> => {
    ending.abort();
    await Promise.all(running);
  };
  t.after(stop);
  return { tally, stop };
}

async function outcomeOf(answer: Promise<Answer>): Promise<string> {
  try {
    const { status, refusal } = await answer;
    return refusal ?? String(status);
  } catch {
    return 'lost';
  }
}
