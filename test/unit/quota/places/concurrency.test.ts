import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConcurrencyRule, OnStoreFailure } from '../../../../src/config/plan-rule.ts';
import { Concurrency, type Place } from '../../../../src/quota/places/concurrency.ts';
import type { Ledger, PlaceAnswer, PlaceOrder } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable, Unreadable } from '../../../../src/stores/store-unavailable.ts';
import { createLedgerScene } from '../../../helpers/ledger-scene.ts';

const own: ConcurrencyRule = { limit: 2, shared: false };
const shared: ConcurrencyRule = { ...own, shared: true };

/** The places of one process, with the store and the clock that they have. */
function openPlaces() {
  const scene = createLedgerScene();
  return { ...scene, places: new Concurrency(scene.options) };
}

/** The same of two processes. */
function openTwo() {
  const { places: one, ...scene } = openPlaces();
  return { ...scene, one, two: new Concurrency(scene.options) };
}

async function enter(places: Concurrency, rule = shared, onStoreFailure: OnStoreFailure = 'refuse') {
  return await places.enter('ada', rule, onStoreFailure);
}

async function enterSurely(places: Concurrency, rule = shared): Promise<Place> {
  const answer = await enter(places, rule);
  assert.ok(answer.kind === 'place');
  return answer;
}

test('a key has as many requests in flight in a process as its limit, and leaving twice frees one place', async () => {
  const { places, options } = openPlaces();
  const first = await enterSurely(places, own);
  assert.deepEqual([first.reading.remaining, first.unasked], [1, false]);
  await enterSurely(places, own);
  assert.equal((await enter(places, own)).kind, 'full');
  await enterSurely(new Concurrency(options), own);
  first.leave();
  first.leave();
  const third = await enterSurely(places, own);
  assert.equal(third.reading.remaining, 0);
  assert.equal((await enter(places, own)).kind, 'full');
});

test('a long request keeps its place, and the place of a crashed process is free after 30 s', async () => {
  const { options, clock, ledger } = createLedgerScene();
  let alive = true;
  const dead = new Promise<never>(() => undefined);
  const crashing = {
    ...ledger,
    stay: async (order: Parameters<typeof ledger.stay>[0]) => (alive ? ledger.stay(order) : dead),
  };
  const one = new Concurrency({ ...options, ledger: crashing });
  const two = new Concurrency(options);
  await enterSurely(one);
  await enterSurely(one);
  await clock.pass(60_000);
  assert.equal((await enter(two)).kind, 'full');
  alive = false;
  await clock.pass(25_000);
  assert.equal((await enter(two)).kind, 'full');
  await clock.pass(5_001);
  await enterSurely(two);
});

test('many places are kept a few at a time, each of them once, and none that is left meanwhile', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const stayed = new Set<string>();
  let [running, most] = [0, 0];
  const slow = {
    ...ledger,
    stay: async (order: Parameters<typeof ledger.stay>[0]) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => void clock.after(100, resolve));
      running -= 1;
      assert.ok(!stayed.has(order.placeId));
      stayed.add(order.placeId);
    },
  };
  const places = new Concurrency({ ...options, ledger: slow });
  const taken: Place[] = [];
  while (taken.length < 250) taken.push(await enterSurely(places, { ...shared, limit: 250 }));
  await clock.pass(5050);
  taken.at(-1)?.leave();
  await clock.pass(1000);
  assert.equal(stayed.size, 249);
  assert.ok(most <= 100, `${most} at once`);
  stayed.clear();
  await clock.pass(4000);
  assert.ok(running > 0, 'the next beat is not late because this one took long');
});

for (const isInOutage of [false, true]) {
  for (const isAnswered of [true, false]) {
    test(`a place is free although what keeps it comes to the store after what left it, ${isInOutage ? 'after an outage' : 'at a beat'}, ${isAnswered ? 'answered' : 'and its answer is lost'}`, async () => {
      const { options, weather, clock, ledger } = createLedgerScene();
      const onItsWay = Promise.withResolvers<void>();
      let isHeldUp = false;
      const slow: Ledger = {
        ...ledger,
        stay: async (order) => {
          if (order.keyId !== 'ada') return ledger.stay(order);
          if (weather.refuses) throw new StoreUnavailable('refused', { mayHaveHappened: false });
          isHeldUp = true;
          await onItsWay.promise;
          await ledger.stay(order);
          if (!isAnswered) throw new StoreUnavailable('lost', { mayHaveHappened: true });
        },
      };
      const one = new Concurrency({ ...options, ledger: slow });
      const two = new Concurrency(options);
      const place = await enterSurely(one, { ...shared, limit: 1 });
      weather.refuses = isInOutage;
      await clock.pass(5000);
      weather.refuses = false;
      await clock.pass(300);
      assert.ok(isHeldUp);
      place.leave();
      await clock.pass(0);
      onItsWay.resolve();
      await clock.pass(0);
      await enterSurely(two, { ...shared, limit: 1 });
    });
  }
}

test('an outage refuses or allows, as the plan says, and leaks no place', async () => {
  const { places, weather, clock } = openPlaces();
  weather.loses = true;
  await assert.rejects(enter(places), StoreUnavailable);
  const allowed = await enter(places, shared, 'allow');
  assert.ok(allowed.kind === 'place' && allowed.unasked);
  weather.loses = false;
  allowed.leave();
  assert.equal(places.size, 0);
  await clock.pass(51);
  assert.ok(!(await enterSurely(places)).unasked);
  await enterSurely(places);
});

test('a shared limit that is full is not asked for each request, and a place that was left is not renewed', async () => {
  const { one, two, clock, ledger } = openTwo();
  const taken = [await enterSurely(one), await enterSurely(one)];
  for (let count = 0; count < 20; count += 1) assert.equal((await enter(two)).kind, 'full');
  assert.equal(ledger.calls.get('enter'), 3);
  for (const place of taken) place.leave();
  await clock.pass(20_000);
  assert.equal(ledger.calls.get('leave'), taken.length);
  assert.equal(clock.timers, 2, 'both look whether the store is there, and do nothing else');
  assert.equal(one.size + two.size, 0);
});

test('denials are forgotten each when it is old, and nothing stays in memory', async () => {
  const { places, clock, ledger } = openPlaces();
  const one: ConcurrencyRule = { ...shared, limit: 1 };
  const deny = async (keyId: string) => {
    await ledger.enter({ keyId, placeId: 'of another', limit: 1, expiresInMs: 60_000 });
    assert.equal((await places.enter(keyId, one, 'refuse')).kind, 'full');
  };
  await deny('ada');
  await clock.pass(30);
  await deny('bob');
  await clock.pass(30);
  assert.equal(places.size, 1);
  const asked = ledger.calls.get('enter');
  await places.enter('bob', one, 'refuse');
  assert.equal(ledger.calls.get('enter'), asked, 'that of bob still holds');
  await clock.pass(100);
  assert.equal(places.size, 0);
});

test('a denial that is forgotten while another request of the key waits leaves nothing when that fails', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const late = Promise.withResolvers<never>();
  const answers: Promise<PlaceAnswer>[] = [late.promise, Promise.resolve('full')];
  const slow: Ledger = { ...ledger, enter: () => answers.shift() ?? late.promise };
  const places = new Concurrency({ ...options, ledger: slow });
  const waiting = enter(places);
  assert.equal((await enter(places)).kind, 'full');
  await clock.pass(60);
  assert.equal(places.size, 1);
  late.reject(new StoreUnavailable('refused', { mayHaveHappened: false }));
  await assert.rejects(waiting, StoreUnavailable);
  assert.equal(places.size, 0);
});

test('a place that is left in this process is usable at once, although others had filled the limit, and is counted then', async () => {
  const { one, two, clock } = openTwo();
  const place = await enterSurely(one);
  await enterSurely(two);
  assert.equal((await enter(one)).kind, 'full');
  place.leave();
  await enterSurely(one);
  await clock.pass(51);
  assert.equal(one.size, 1);
});

test('a denial that was asked for before a place was left in this process is not remembered', async () => {
  const { one, two, weather, clock } = openTwo();
  const place = await enterSurely(one);
  await enterSurely(two);
  weather.takesMs = 10;
  const denied = enter(one);
  await clock.pass(5);
  place.leave();
  await clock.pass(20);
  assert.equal((await denied).kind, 'full');
  weather.takesMs = 0;
  await enterSurely(one);
});

test('places that were left, or perhaps taken, during an outage are free soon after it', async () => {
  const { one, two, weather, clock } = openTwo();
  const taken = await enterSurely(one);
  weather.loses = true;
  await assert.rejects(enter(one), StoreUnavailable);
  weather.refuses = true;
  taken.leave();
  await clock.pass(3000);
  weather.refuses = false;
  weather.loses = false;
  await clock.pass(251);
  await enterSurely(two);
  await enterSurely(two);
  await clock.pass(5000);
  assert.equal(one.size, 0);
});

for (const how of ['a call failed', 'it was connected to again'] as const) {
  test(`what the master after a failover has not heard of places it is told soon: ${how}`, async () => {
    const { options, ledger, weather, clock } = createLedgerScene();
    const orders: PlaceOrder[] = [];
    const left: string[] = [];
    const watched: Ledger = {
      ...ledger,
      enter(order) {
        orders.push(order);
        return ledger.enter(order);
      },
      leave(keyId, placeId) {
        left.push(placeId);
        return ledger.leave(keyId, placeId);
      },
    };
    const one = new Concurrency({ ...options, ledger: watched });
    const two = new Concurrency(options);
    (await enterSurely(one)).leave();
    await clock.pass(3000);
    const taken = [await enterSurely(one), await enterSurely(one)];
    for (const place of taken) place.leave();
    await clock.pass(1500);
    for (let count = 0; count < 5000; count += 1) (await enterSurely(one)).leave();
    await enterSurely(one);
    const kept = orders.at(-1) ?? assert.fail();
    if (how === 'a call failed') {
      weather.refuses = true;
      await assert.rejects(enter(one), StoreUnavailable);
      weather.refuses = false;
    } else {
      ledger.comeBack();
    }
    // It knows those that were left, and not the one that was taken.
    for (const order of orders.slice(1, 3)) await ledger.stay(order);
    await ledger.leave(kept.keyId, kept.placeId);
    assert.equal((await enter(two)).kind, 'full');
    assert.equal((await enter(one)).kind, 'full');
    await clock.pass(300);
    await enterSurely(two);
    assert.equal((await enter(two)).kind, 'full');
    assert.equal(left.filter((placeId) => placeId === orders[0]?.placeId).length, 1, 'it is known for long');
  });
}

test('of masters that take over shortly one after the other each is told of the places that were left', async () => {
  const { options, ledger, clock } = createLedgerScene();
  const orders: PlaceOrder[] = [];
  const noting: Ledger = { ...ledger, enter: (order) => (orders.push(order), ledger.enter(order)) };
  const one = new Concurrency({ ...options, ledger: noting });
  const single = { ...shared, limit: 1 };
  ledger.comeBack();
  await clock.pass(500);
  (await enterSurely(one, single)).leave();
  // The next has not heard of it.
  for (const order of orders) await ledger.stay(order);
  ledger.comeBack();
  await clock.pass(3000);
  await enterSurely(new Concurrency(options), single);
});

for (const answers of ['soon', 'late'] as const) {
  test(`of what was left before an outage the store is told again that is connected to again, and answers ${answers}`, async () => {
    const { one, two, options, ledger, weather, clock } = openTwo();
    const left: PlaceOrder[] = [];
    const noting = new Concurrency({
      ...options,
      ledger: { ...ledger, enter: (order) => (left.push(order), ledger.enter(order)) },
    });
    (await enterSurely(noting)).leave();
    await clock.pass(1000);
    weather.refuses = true;
    await assert.rejects(enter(noting), StoreUnavailable);
    await clock.pass(8000);
    weather.refuses = false;
    // Another has taken its place, and has not heard that the place was left.
    for (const order of left.slice(0, 1)) await ledger.stay(order);
    ledger.comeBack();
    if (answers === 'soon') (await enterSurely(noting)).leave();
    await clock.pass(300);
    await enterSurely(one);
    await enterSurely(two);
  });
}

test('while the store answers some and fails others it is told twice at most of a place that was left', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const wide: ConcurrencyRule = { ...shared, limit: 8 };
  const half: Ledger = {
    ...ledger,
    async enter(order) {
      if (order.keyId === 'bob') throw new StoreUnavailable('away', { mayHaveHappened: false });
      return await ledger.enter(order);
    },
  };
  const places = new Concurrency({ ...options, ledger: half });
  for (let count = 0; count < 1000; count += 1) {
    await assert.rejects(async () => await places.enter('bob', wide, 'refuse'), StoreUnavailable);
    (await enterSurely(places, wide)).leave();
    await clock.pass(1);
  }
  const told = ledger.calls.get('leave') ?? 0;
  assert.ok(told <= 2000, `${told} times`);
});

test('while a part of the store is away it is tried now and then to leave places there, and they are free soon after it', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const wide: ConcurrencyRule = { ...shared, limit: 10 };
  let isAway = false;
  let tries = 0;
  const half: Ledger = {
    ...ledger,
    async leave(keyId, placeId) {
      if (isAway && keyId === 'ada') {
        tries += 1;
        throw new StoreUnavailable('away', { mayHaveHappened: false });
      }
      await ledger.leave(keyId, placeId);
    },
  };
  const [one, two] = [new Concurrency({ ...options, ledger: half }), new Concurrency(options)];
  const taken = await Promise.all(Array.from({ length: 10 }, () => enterSurely(one, wide)));
  isAway = true;
  for (const place of taken) place.leave();
  for (let turn = 0; turn < 900; turn += 1) {
    const bob = await one.enter('bob', shared, 'refuse');
    if (bob.kind === 'place') bob.leave();
    await clock.pass(10);
  }
  assert.ok(tries > 20 && tries < 100, `${tries} tries`);
  isAway = false;
  await clock.pass(300);
  for (let count = 0; count < 10; count += 1) await enterSurely(two, wide);
});

test('a place that expired while its part of the store was away is told of soon after it, whatever the rest answers', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const single: ConcurrencyRule = { ...shared, limit: 1 };
  let isAway = false;
  const half: Ledger = {
    ...ledger,
    async stay(order) {
      if (isAway && order.keyId === 'ada') throw new StoreUnavailable('away', { mayHaveHappened: false });
      await ledger.stay(order);
    },
  };
  const [one, two] = [new Concurrency({ ...options, ledger: half }), new Concurrency(options)];
  await enterSurely(one, single);
  for (const awayMs of [40_100, 41_300, 42_500]) {
    isAway = true;
    for (let turn = 0; turn < awayMs; turn += 100) {
      const bob = await one.enter('bob', shared, 'refuse');
      if (bob.kind === 'place') bob.leave();
      await clock.pass(100);
    }
    isAway = false;
    await clock.pass(300);
    assert.equal((await enter(two, single)).kind, 'full', `after ${awayMs} ms`);
  }
});

test('a part of the store that is away keeps nobody from a place in another', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const inPart: Ledger = {
    ...ledger,
    async stay(order) {
      requireAda(order);
      await ledger.stay(order);
    },
    async enter(order) {
      requireAda(order);
      return await ledger.enter(order);
    },
  };
  const places = new Concurrency({ ...options, ledger: inPart });
  (await enterSurely(places)).leave();
  await assert.rejects(async () => await places.enter('bob', shared, 'refuse'), StoreUnavailable);
  await clock.pass(60_000);
  await enterSurely(places);
});

/** That of any other key is in the part of the store that is away. */
function requireAda({ keyId }: PlaceOrder): void {
  if (keyId !== 'ada') throw new StoreUnavailable('away', { mayHaveHappened: false });
}

test('a key that is told of places that were left already has them at its next request', async () => {
  const { places, weather, clock } = openPlaces();
  const taken = [await enterSurely(places), await enterSurely(places)];
  weather.refuses = true;
  for (const place of taken) place.leave();
  await clock.pass(0);
  weather.refuses = false;
  assert.equal((await enter(places)).kind, 'full');
  await clock.pass(51);
  await enterSurely(places);
  await enterSurely(places);
});

test('a store that is silent is asked by one at a time whether it is back', async () => {
  const { options, clock, ledger } = createLedgerScene();
  const asked: string[] = [];
  const silent: Ledger = {
    ...ledger,
    async leave(keyId) {
      asked.push(keyId);
      await new Promise<void>((resolve) => void clock.after(2000, resolve));
      throw new StoreUnavailable('silent', { mayHaveHappened: true });
    },
  };
  const places = new Concurrency({ ...options, ledger: silent });
  const wide = { ...shared, limit: 20 };
  const taken = await Promise.all(Array.from({ length: 20 }, () => enterSurely(places, wide)));
  for (const place of taken) {
    place.leave();
    await clock.pass(100);
  }
  await clock.pass(4000);
  assert.ok(asked.length > 20 && asked.length < 24, `${asked.length} times`);
});

test('in a long outage the store is asked now and then whether it is back', async () => {
  const { places, weather, clock, ledger } = openPlaces();
  const { limit, ...rest } = shared;
  const taken = await Promise.all(
    Array.from({ length: 20 }, () => enterSurely(places, { ...rest, limit: limit * 10 })),
  );
  weather.refuses = true;
  for (const place of taken) place.leave();
  await clock.pass(1000);
  assert.equal(ledger.calls.get('leave'), 20);
  const tries = ledger.calls.get('stay') ?? 0;
  assert.ok(tries > 0 && tries < 6, `${tries} tries`);
  await clock.pass(35_000);
  const later = ledger.calls.get('stay') ?? 0;
  assert.ok(later < 4 * 30 + 64, `${later} tries`);
  assert.equal(clock.timers, 2, 'it looks whether the store is there, and whether it is back');
});

for (const outageMs of [6000, 17_000, 24_000, 29_000]) {
  for (const takenForMs of [0, 4500]) {
    test(`no place is given twice after an outage of ${outageMs} ms, ${takenForMs} ms after it was taken`, async () => {
      const { one, two, weather, clock } = openTwo();
      await enterSurely(one);
      await clock.pass(takenForMs);
      await enterSurely(two);
      weather.refuses = true;
      await clock.pass(outageMs);
      weather.refuses = false;
      for (let waitedMs = 0; waitedMs < 40_000; waitedMs += 100) {
        await clock.pass(100);
        const answer = await enter(two).catch(() => undefined);
        assert.notEqual(answer?.kind, 'place', `${waitedMs} ms after it`);
        assert.ok(waitedMs < 3000 || answer?.kind === 'full');
      }
    });
  }
}

for (const asksMeanwhile of [true, false]) {
  test(`after an outage in which places expired no other is taken before those in flight are told again, by one that ${asksMeanwhile ? 'asked' : 'was idle'} meanwhile`, async () => {
    const { one, two, weather, clock } = openTwo();
    const taken = [await enterSurely(one), await enterSurely(one)];
    assert.equal((await enter(two)).kind, 'full');
    weather.refuses = true;
    await clock.pass(100);
    if (asksMeanwhile) await assert.rejects(enter(two), StoreUnavailable);
    await clock.pass(40_000);
    weather.refuses = false;
    await assert.rejects(enter(two), StoreUnavailable, 'it was the first to be answered');
    const allowed = await enter(two, shared, 'allow');
    assert.ok(allowed.kind === 'place' && allowed.unasked);
    allowed.leave();
    await clock.pass(1000);
    await assert.rejects(enter(two), StoreUnavailable);
    await clock.pass(1000);
    assert.equal((await enter(two)).kind, 'full');
    taken[0]?.leave();
    await clock.pass(51);
    await enterSurely(two);
  });
}

for (const was of ['busy', 'idle', 'asked all the time'] as const) {
  test(`a store without memory, where places can only be left, gives none twice either to one that was ${was}`, async () => {
    const { options, clock, ledger } = createLedgerScene();
    let isFull = false;
    const requireMemory = (): void => {
      if (isFull) throw new StoreUnavailable('no memory', { mayHaveHappened: false });
    };
    const small: Ledger = {
      ...ledger,
      async enter(order) {
        // Who is denied a place needs none.
        if (isFull && (await ledger.enter(order)) === 'full') return 'full';
        await ledger.leave(order.keyId, order.placeId);
        requireMemory();
        return await ledger.enter(order);
      },
      async stay(order) {
        requireMemory();
        await ledger.stay(order);
      },
    };
    const one = new Concurrency({ ...options, ledger: small });
    const two = new Concurrency({ ...options, ledger: small });
    const others = await Promise.all(
      Array.from(
        { length: was === 'busy' ? 8 : 0 },
        async () => await two.enter('bob', { ...shared, limit: 8 }, 'refuse'),
      ),
    );
    await enterSurely(one);
    await enterSurely(one);
    assert.equal((await enter(two)).kind, 'full');
    isFull = true;
    for (const other of others) {
      await clock.pass(4000);
      if (other.kind === 'place') other.leave();
    }
    for (let passedMs = 0; passedMs < 40_000; passedMs += 100) {
      await clock.pass(100);
      if (was !== 'asked all the time') continue;
      assert.notEqual((await enter(two).catch(() => undefined))?.kind, 'place', `${passedMs} ms after it`);
    }
    isFull = false;
    await assert.rejects(enter(two), StoreUnavailable);
    await clock.pass(1999);
    await assert.rejects(enter(two), StoreUnavailable);
    await clock.pass(60);
    assert.equal((await enter(two)).kind, 'full');
  });
}

for (const quietMs of [0, 30_000, 3_600_000]) {
  test(`a short outage costs nobody a wait, ${quietMs} ms after it`, async () => {
    const { places, weather, clock } = openPlaces();
    await clock.pass(60_000);
    weather.refuses = true;
    await assert.rejects(enter(places), StoreUnavailable);
    await clock.pass(15_000);
    weather.refuses = false;
    await clock.pass(quietMs);
    await enterSurely(places);
    assert.equal(clock.timers, quietMs === 0 ? 2 : 1);
  });
}

test('what is not told of a place in an outage is told soon after it, once, and not of places left meanwhile', async () => {
  const { places, weather, clock, ledger } = openPlaces();
  const wide = { ...shared, limit: 300 };
  const taken = await Promise.all(Array.from({ length: 300 }, () => enterSurely(places, wide)));
  weather.refuses = true;
  await clock.pass(12_000);
  const tries = ledger.calls.get('stay') ?? 0;
  assert.ok(tries >= 300 && tries < 350, `${tries} tries`);
  for (const place of taken.slice(200)) place.leave();
  weather.refuses = false;
  await clock.pass(300);
  assert.equal((ledger.calls.get('stay') ?? 0) - tries, 1 + 200, 'one asked whether the store is back');
});

test('of what a store could not be told in an outage only so much is remembered', async () => {
  const { places, weather, clock, ledger } = openPlaces();
  const keys = Array.from({ length: 10_500 }, (_, nth) => `key-${nth}`);
  const taken = await Promise.all(keys.map(async (key) => await places.enter(key, shared, 'refuse')));
  weather.refuses = true;
  for (const place of taken) if (place.kind === 'place') place.leave();
  await clock.pass(1000);
  const tries = ledger.calls.get('leave') ?? 0;
  weather.refuses = false;
  await clock.pass(5000);
  const told = (ledger.calls.get('leave') ?? 0) - tries;
  assert.ok(told >= 10_000 && told < 10_010, `${told} times`);
});

test('a place whose counter is spoilt keeps no other from being renewed or taken', async () => {
  const { options, problems, clock, ledger } = createLedgerScene();
  const stays = new Map<string, number>();
  const spoilt = {
    ...ledger,
    stay: async (order: Parameters<typeof ledger.stay>[0]) => {
      stays.set(order.keyId, (stays.get(order.keyId) ?? 0) + 1);
      if (order.keyId === 'ada') throw new Unreadable('not a set');
      await ledger.stay(order);
    },
  };
  const places = new Concurrency({ ...options, ledger: spoilt });
  await enterSurely(places);
  const bob = await places.enter('bob', shared, 'refuse');
  assert.ok(bob.kind === 'place');
  await clock.pass(20_100);
  assert.deepEqual(Object.fromEntries(stays), { ada: 4, bob: 4 });
  assert.deepEqual(problems, []);
  bob.leave();
  await clock.pass(30_000);
  await enterSurely(places);
});

test('a fault of the program is told, whether a place is left, kept, or none is taken, and is not tried again', async () => {
  const { options, problems, clock, ledger } = createLedgerScene();
  const places = new Concurrency({ ...options, ledger: { ...ledger, stay: failByABug, leave: failByABug } });
  const place = await enterSurely(places);
  await clock.pass(5000);
  assert.equal(problems.length, 1);
  place.leave();
  await clock.pass(4000);
  assert.equal(problems.length, 2);
  await clock.pass(1000);
  assert.equal(problems.length, 3);
});

function failByABug(): Promise<never> {
  return Promise.reject(new TypeError('a bug'));
}
