import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Concurrency, type Place } from '../../../../src/quota/places/concurrency.ts';
import type { PlacesAccess } from '../../../../src/quota/places/shared-places.ts';
import type { Ledger } from '../../../../src/stores/ledger.ts';
import { migrations } from '../../../../src/stores/sqlite/migrations.ts';
import { preparePlaces } from '../../../../src/stores/sqlite/places.ts';
import { StoreUnavailable } from '../../../../src/stores/store-unavailable.ts';
import { createRandom } from '../../../helpers/random.ts';
import { runWorlds } from '../../../helpers/run-worlds.ts';
import { settle as runReady } from '../../../helpers/turnable-clock.ts';

/*
 * Three processes that share the places of two keys, through random outages of the store, of up to 45 seconds. PLACES_MODEL_SEED
 * repeats the run of a seed alone, and PLACES_MODEL_RUNS makes more of them.
 */
const steps = 150;
const keys = ['ada', 'bob'];
const deadlineMs = 250;
/** On a connection on which nothing is heard for so long nothing more is sent. */
const patienceMs = 1000;
/** By then a process has connected again. */
const reconnectsWithinMs = 1750;

/** A store that is silent answers later what it was asked; one that is full takes only what removes something. */
type Weather = 'healthy' | 'away' | 'silent' | 'full' | 'losing';

interface Worker {
  readonly name: string;
  readonly places: Concurrency;
  readonly hearReturn: () => void;
  isConnected: boolean;
}

interface InFlight {
  readonly worker: Worker;
  readonly keyId: string;
  readonly place: Place;
}

test('no outage lets more requests of a key be in flight than its limit, nor keeps a place taken that was left', async () => {
  await runWorlds({ name: 'PLACES_MODEL', runs: 12, create: createWorld });
});

function createWorld(seed: number) {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const story: string[] = [];
  const rule = { limit: 1 + below(3), shared: true };
  const store = openStoreAt(() => now);
  const inFlight: InFlight[] = [];
  const problems: unknown[] = [];
  let now = Date.UTC(2026, 0, 1);
  let weather: Weather = 'healthy';
  let silentSince = 0;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  /** What a silent store has yet to read. */
  let unread: (() => void)[] = [];

  const later = (delayMs: number, run: () => void): void => void timers.push({ at: now + delayMs, run });
  const clock: PlacesAccess['clock'] = {
    wall: () => now,
    mono: () => now,
    whenAllIsRead: (callback) => callback(),
    after(delayMs, run) {
      later(Math.ceil(delayMs), run);
      return () => undefined;
    },
  };
  const workers = ['one', 'two', 'three'].map(startWorker);

  function startWorker(name: string): Worker {
    let lastAt = now;
    let hearReturn: (() => void) | undefined;

    /** Nothing on a connection overtakes what was sent before it. */
    function send<T>(run: () => T, needsRoom: boolean): Promise<T> {
      if (!worker.isConnected) return Promise.reject(fail('not connected', false));
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const arrive = (): void => {
        if (weather === 'full' && needsRoom) return later(below(4), () => reject(fail('full', false)));
        const answer = run();
        if (weather !== 'losing' || below(2) === 0) later(below(4), () => resolve(answer));
      };
      lastAt = Math.max(lastAt, now + below(4));
      later(lastAt - now, () => {
        if (weather === 'silent') unread.push(arrive);
        else if (weather !== 'away' || below(2) === 0) arrive();
      });
      later(deadlineMs, () => reject(fail('too late', true)));
      return promise;
    }

    const ledger: Pick<Ledger, 'enter' | 'stay' | 'leave' | 'onReturn'> = {
      enter: (order) => send(() => store.enter(order), true),
      stay: (order) => send(() => store.stay(order), true),
      leave: (keyId, placeId) => send(() => store.leave(keyId, placeId), false),
      onReturn: (hear) => void (hearReturn = hear),
    };
    const access = { ledger: ledger as Ledger, clock, onError: (error: unknown) => problems.push(error) };
    const places = new Concurrency(access);
    const worker: Worker = { name, places, hearReturn: () => hearReturn?.(), isConnected: true };
    return worker;
  }

  function turn(next: Weather): void {
    if (next === weather) return;
    const wasSilentForMs = weather === 'silent' ? now - silentSince : 0;
    weather = next;
    silentSince = now;
    const read = unread;
    unread = [];
    if (next === 'away' || wasSilentForMs > patienceMs)
      for (const worker of workers) worker.isConnected = false;
    if (next === 'away') return;
    for (const arrive of read) arrive();
    if (next !== 'silent')
      for (const worker of workers) later(below(reconnectsWithinMs), () => connect(worker));
  }

  function connect(worker: Worker): void {
    if (worker.isConnected || weather === 'away' || weather === 'silent') return;
    worker.isConnected = true;
    worker.hearReturn();
  }

  async function pass(ms: number): Promise<void> {
    const end = now + ms;
    for (;;) {
      await runReady();
      check();
      const next = timers.toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > end) break;
      timers = timers.filter((timer) => timer !== next);
      now = next.at;
      if (weather === 'silent' && now - silentSince > patienceMs)
        for (const worker of workers) worker.isConnected = false;
      next.run();
    }
    now = end;
  }

  function check(): void {
    assert.deepEqual(problems, []);
    for (const keyId of keys) {
      const count = inFlight.filter((one) => one.keyId === keyId).length;
      assert.ok(count <= rule.limit, `${count} requests of ${keyId} are in flight of ${rule.limit}`);
    }
  }

  async function enter(worker: Worker, keyId: string): Promise<void> {
    try {
      const place = await worker.places.enter(keyId, rule, 'refuse');
      story.push(`${now} ${worker.name}, ${keyId}: ${place.kind}`);
      if (place.kind === 'place') inFlight.push({ worker, keyId, place });
    } catch (error) {
      story.push(`${now} ${worker.name}, ${keyId}: ${String(error)}`);
      if (!(error instanceof StoreUnavailable)) problems.push(error);
    }
  }

  function leave(index: number): void {
    const [left] = inFlight.splice(index, 1);
    left?.place.leave();
    if (left !== undefined) story.push(`${now} ${left.worker.name}, ${left.keyId}: left`);
  }

  /** All come as soon as it is over. */
  async function anOutage(): Promise<void> {
    turn(someWeather());
    await pass(below(45_000));
    while (below(3) > 0) leave(below(inFlight.length));
    turn('healthy');
    for (let count = 0; count < 12; count += 1) {
      void enter(workers[below(3)]!, keys[below(2)]!);
      await pass(below(300));
    }
  }

  const someWeather = (): Weather => (['healthy', 'away', 'silent', 'full', 'losing'] as const)[below(5)]!;
  const actions: readonly [number, string, () => Promise<void> | void][] = [
    [40, 'enter', () => void enter(workers[below(3)]!, keys[below(2)]!)],
    [25, 'leave', () => leave(below(inFlight.length))],
    [15, 'a moment', () => pass(below(60))],
    [8, 'a while', () => pass(below(3000))],
    [5, 'weather', () => turn(someWeather())],
    [3, 'clears up', () => turn('healthy')],
    [4, 'an outage', anOutage],
  ];
  const weights = actions.reduce((sum, [weight]) => sum + weight, 0);

  async function act(): Promise<void> {
    let pick = below(weights);
    const [, name, run] = actions.find(([weight]) => (pick -= weight) < 0)!;
    await run();
    story.push(`${now} ${name} (${weather})`);
  }

  return {
    story,
    async run(): Promise<void> {
      // A process that was never asked for a shared place does not know of an outage.
      for (const worker of workers) {
        await Promise.all([enter(worker, 'ada'), pass(20)]);
        leave(0);
        await pass(20);
      }
      for (let step = 0; step < steps; step += 1) await act();
      turn('healthy');
      await pass(6000);
      assert.equal(store.taken(keys), inFlight.length, 'places that are taken, and requests in flight');
      while (inFlight.length > 0) leave(0);
      await pass(500);
      assert.equal(store.taken(keys), 0, 'places that are taken though nothing is in flight');
    },
  };
}

function openStoreAt(clock: () => number) {
  const database = new DatabaseSync(':memory:');
  for (const migration of migrations) database.exec(migration);
  const places = database.prepare('SELECT key FROM places WHERE expires > ?');
  const taken = (keyIds: readonly string[]): number =>
    places.all(clock()).filter(({ key }) => keyIds.includes(String(key))).length;
  return { ...preparePlaces(database, clock), taken };
}

function fail(message: string, mayHaveHappened: boolean): StoreUnavailable {
  return new StoreUnavailable(message, { mayHaveHappened });
}
