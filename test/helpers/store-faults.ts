import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import type { DrawOrder } from '../../src/stores/ledger.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import type { Store, StoreOptions } from '../../src/stores/store.ts';
import { aCounter, aDraw } from './ledger-orders.ts';
import { openPatiently } from './open-patiently.ts';
import { until } from './poll.ts';
import { startRedisServer } from './redis-server.ts';
import { startTcpProxy } from './tcp-proxy.ts';

/** That of a gateway by default: for a store that is to run into it. */
export const DEADLINE_MS = 250;
/** What a busy machine may add to a deadline. */
const SLACK_MS = 5_000;

/** The counter that the faults are tried on. */
export const counters = [aCounter({ limit: 1_000_000 })];

/** Opens a store by its address as it is written. */
export async function openAt(t: TestContext, url: string, options?: StoreOptions): Promise<Store> {
  return await openPatiently(t, parseStoreAddress(url), options);
}

/** The same with the default deadline, connected, and known to answer. */
export async function openHasty(t: TestContext, url: string): Promise<Store> {
  const store = await openAt(t, url, { deadlineMs: DEADLINE_MS });
  await until(async () => (await outcomeOf(store.ping())) === undefined);
  return store;
}

type Opens = (t: TestContext, url: string, options?: StoreOptions) => Promise<Store>;

/** A Redis of the test's own, and a store in it. */
export async function ownRedis(t: TestContext, open: Opens = openAt, options?: StoreOptions) {
  const redis = await startRedisServer(t);
  const store = await open(t, redis.url, options);
  return { redis, store, ledger: store.ledger };
}

/** The same with a proxy between the two. */
export async function proxiedRedis(t: TestContext, open: Opens = openAt, options?: StoreOptions) {
  const redis = await startRedisServer(t);
  const proxy = await startTcpProxy(t, redis.port);
  const store = await open(t, `redis://127.0.0.1:${proxy.port}`, options);
  return { redis, proxy, store, ledger: store.ledger };
}

export interface CallFailure {
  readonly message: string;
  readonly mayHaveHappened: boolean;
  readonly tookMs: number;
  /** All that a log could get hold of. */
  readonly whole: () => string;
}

/** How a call failed; that it did, and in time, is asserted. */
export async function failureOf(call: Promise<unknown>): Promise<CallFailure> {
  const failure = await outcomeOf(call);
  return failure ?? assert.fail('it did not fail');
}

/** How a call failed in time, or undefined. */
export async function outcomeOf(call: Promise<unknown>): Promise<CallFailure | undefined> {
  const started = performance.now();
  try {
    await call;
    return undefined;
  } catch (error) {
    const tookMs = performance.now() - started;
    if (!(error instanceof StoreUnavailable)) throw error;
    assert.ok(tookMs < DEADLINE_MS + SLACK_MS, `${tookMs} ms`);
    const { message, mayHaveHappened } = error;
    return { message, mayHaveHappened, tookMs, whole: () => inspect(error) };
  }
}

/** Waits until draws work again. Resolves to the units that it has drawn: those that failed are cancelled. */
export async function recovers(store: Store, keyId = 'key'): Promise<number> {
  const unclear: DrawOrder[] = [];
  await until(async () => {
    const order = aDraw({ counters, keyId });
    const failed = (await outcomeOf(store.ledger.draw(order))) !== undefined;
    if (failed) unclear.push(order);
    return !failed;
  });
  // There may be hundreds of them, and one may be late on a busy machine: it is undone once, however often it is asked for.
  for (const order of unclear)
    await until(async () => (await outcomeOf(store.ledger.cancelDraw(order))) === undefined);
  return 1;
}
