import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countersAt } from '../../../../src/quota/counters.ts';
import { manyLeases } from '../../../../src/quota/leases/lease-steps.ts';
import { Leases } from '../../../../src/quota/leases/leases.ts';
import type { DrawOrder, Ledger } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable, Unreadable } from '../../../../src/stores/store-unavailable.ts';
import { aPlan, aQuota } from '../../../helpers/a-plan.ts';
import { may, openLeases, openWarm, plan, readMonth, take, warmUp } from '../../../helpers/lease-callers.ts';
import { createLedgerScene } from '../../../helpers/ledger-scene.ts';
import { settle as runReady } from '../../../helpers/turnable-clock.ts';

const noon = Date.UTC(2026, 4, 5, 12);
/** A plan that lets requests through in an outage. */
const allowed = aPlan({ quotas: [aQuota(10)], onStoreFailure: 'allow' });

test('a drain waits three seconds for a store that is silent, however long one call may wait for it', async () => {
  const { scene, leases } = await openWarm({ deadlineMs: 8000 });
  scene.weather.takesMs = 8000;
  // One draw is under way, and what is held goes back.
  void leases.reserve({ keyId: 'bob', plan, cost: 1 });
  let isOver = false;
  const drained = leases.drain().then(() => (isOver = true));
  await scene.clock.pass(2900);
  assert.equal(isOver, false);
  await scene.clock.pass(200);
  assert.equal(isOver, true);
  await drained;
  assert.ok(leases.counts.waitingSteps > 0, 'and it is known what is lost');
});

test('a drain waits on as long as the store takes something, however slowly', async () => {
  const { scene, leases } = openLeases();
  const keys = Array.from({ length: 200 }, (_, at) => `k${at}`);
  const spent = keys.flatMap((keyId) => Array.from({ length: 4 }, () => ({ keyId, plan, cost: 1 })));
  await Promise.all(spent.map(async (order) => await leases.reserve(order)));
  scene.weather.takesMs = 2000;
  const countsThen = leases.drain().then(() => leases.counts);
  await scene.clock.pass(20_000);
  const { waitingSteps, droppedSteps } = await countsThen;
  assert.deepEqual([waitingSteps, droppedSteps], [0, 0]);
});

test('a drain that gives up counts each key whose units found no room to go back', async () => {
  const { scene, leases } = openLeases({ stepsMax: 4 });
  const keys = Array.from({ length: 50 }, (_, at) => `k${at}`);
  const spent = keys.flatMap((keyId) => Array.from({ length: 4 }, () => ({ keyId, plan, cost: 1 })));
  await Promise.all(spent.map(async (order) => await leases.reserve(order)));
  scene.weather.refuses = true;
  const drained = leases.drain();
  await scene.clock.pass(4000);
  await drained;
  const { waitingSteps, droppedSteps } = leases.counts;
  assert.deepEqual([leases.counts.leases, waitingSteps, droppedSteps], [0, 4, 46]);
});

test('a drain waits a little for a store that is away, so that what is owed is charged', async () => {
  const { scene, leases } = openLeases();
  scene.weather.refuses = true;
  leases.settle(await take(leases, allowed), 1);
  const usedThen = leases.drain().then(() => scene.ledger.used('ada', 'month', may));
  await scene.clock.pass(1000);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  assert.equal(await usedThen, 1);
  assert.deepEqual([leases.counts.waitingSteps, leases.counts.owingKeys], [0, 0]);
});

test('units that find no room to go back are kept until there is', async () => {
  const { scene, leases, spent } = await openWarm({ stepsMax: 1 });
  scene.weather.refuses = true;
  const bob = leases.reserve({ keyId: 'bob', plan, cost: 1 });
  await assert.rejects(async () => await bob, StoreUnavailable);
  scene.weather.refuses = false;
  scene.weather.loses = true;
  await assert.rejects(async () => await leases.reserve({ keyId: 'bob', plan, cost: 1 }), StoreUnavailable);
  await scene.clock.pass(3000);
  assert.equal(leases.counts.leases, 1);
  scene.weather.loses = false;
  await scene.clock.pass(3000);
  assert.equal(scene.ledger.used('ada', 'month', may), spent);
  assert.equal(scene.ledger.used('bob', 'month', may), 0);
  assert.equal(leases.counts.leases, 0);
});

test('so they are while the store is there, and only the step that fills the room cannot be taken', async () => {
  const scene = createLedgerScene();
  let isSpoilt = true;
  const charge: Ledger['charge'] = (order) =>
    isSpoilt ? Promise.reject(new Unreadable('spoilt')) : scene.ledger.charge(order);
  const leases = new Leases({ ...scene.options, stepsMax: 1, ledger: { ...scene.ledger, charge } });
  const bob = await leases.reserve({ keyId: 'bob', plan, cost: 1 });
  const spent = await warmUp(scene, leases);
  assert.ok(bob.kind === 'reservation');
  leases.settle(bob, 2);
  await scene.clock.pass(3000);
  assert.deepEqual([leases.counts.leases, leases.counts.waitingSteps], [1, 1]);
  isSpoilt = false;
  await scene.clock.pass(3000);
  assert.deepEqual([leases.counts.leases, leases.counts.droppedSteps], [0, 0]);
  assert.equal(scene.ledger.used('ada', 'month', may), spent);
});

test('units on their way back are not dropped to tell that another key has spent what it held', async () => {
  const { scene, leases, spent } = await openWarm({ stepsMax: 1 });
  const ofBob = { keyId: 'bob', plan, cost: 1 };
  await scene.clock.pass(600);
  await Promise.all([ofBob, ofBob, ofBob, ofBob].map(async (order) => await leases.reserve(order)));
  await leases.reserve({ ...ofBob, cost: 2 });
  scene.weather.refuses = true;
  await scene.clock.pass(3000);
  assert.equal(leases.counts.leases, 0);
  scene.weather.refuses = false;
  await scene.clock.pass(3000);
  assert.equal(scene.ledger.used('ada', 'month', may), spent);
});

test('no request waits longer than the deadline, however many draws it needs', async () => {
  const { scene, leases } = openLeases();
  scene.weather.takesMs = 200;
  const first = take(leases);
  await scene.clock.pass(100);
  const failures: Error[] = [];
  take(leases).catch((error: Error) => failures.push(error));
  await scene.clock.pass(249);
  assert.equal(failures.length, 0);
  await scene.clock.pass(2);
  assert.ok(failures[0] instanceof StoreUnavailable);
  await first;
});

test('an outage spends what is held first, then refuses, and ends by itself', async () => {
  const { scene, leases } = await openWarm();
  const askedBefore = scene.ledger.calls.get('draw') ?? 0;
  scene.weather.refuses = true;
  let granted = 0;
  for (;;) {
    try {
      await take(leases);
      granted += 1;
    } catch (error) {
      assert.ok(error instanceof StoreUnavailable);
      break;
    }
  }
  assert.ok(granted > 10);
  const asked = (scene.ledger.calls.get('draw') ?? 0) - askedBefore;
  assert.ok(asked <= 2, `asked ${asked} times`);
  scene.weather.refuses = false;
  await take(leases);
});

test('what is held when an outage begins is spent however seldom the key calls, and what is left goes back after it', async () => {
  const { scene, leases } = openLeases();
  let spent = await warmUp(scene, leases);
  scene.weather.refuses = true;
  await assert.rejects(async () => await leases.reserve({ keyId: 'bob', plan, cost: 1 }), StoreUnavailable);
  for (let nth = 0; nth < 10; nth += 1) {
    await scene.clock.pass(1500);
    await take(leases);
    spent += 1;
  }
  const sent = () => scene.ledger.calls.get('giveBack') ?? 0;
  const askedBefore = sent();
  await scene.clock.pass(5000);
  const asked = sent() - askedBefore;
  assert.ok(asked > 0 && asked <= 20, `one at a time asks whether the store is back, ${asked} did`);
  assert.equal(leases.counts.waitingSteps, 0, 'what only asks whether the store is back moves no units');
  scene.weather.refuses = false;
  await scene.clock.pass(2000);
  assert.equal(scene.ledger.used('ada', 'month', may), spent);
  assert.deepEqual([leases.counts.leases, leases.counts.waitingSteps, scene.clock.timers], [0, 0, 0]);
  assert.equal(sent() - askedBefore - asked, 2, 'one step that had asked, and one with what is left');
});

for (const [name, weather] of [
  ['refuses', { refuses: true }],
  ['is silent', { takesMs: 8000 }],
] as const) {
  test(`a drain that cannot tell a store that ${name} of units that were spent has lost nothing`, async () => {
    const { scene, leases } = openLeases();
    await Promise.all([1, 1, 1, 1].map((cost) => take(leases, plan, cost)));
    await take(leases, plan, 2);
    Object.assign(scene.weather, weather);
    const countsThen = leases.drain().then(() => leases.counts);
    await scene.clock.pass(4000);
    assert.deepEqual(await countsThen, { leases: 0, owingKeys: 0, waitingSteps: 0, droppedSteps: 0 });
  });
}

test('units of a period that has ended go back, though the store is away', async () => {
  const minute = aPlan({ quotas: [aQuota(100_000, 'minute')] });
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12) + 50_000 });
  await warmUp(scene, leases, minute);
  scene.weather.refuses = true;
  await assert.rejects(async () => await leases.reserve({ keyId: 'bob', plan, cost: 1 }), StoreUnavailable);
  await scene.clock.pass(5000);
  assert.equal(leases.counts.leases, 1);
  await scene.clock.pass(10_000);
  assert.equal(leases.counts.leases, 0);
});

test('what waits for the store goes as soon as a draw is answered, and not with the next look at it alone', async () => {
  const { scene, leases } = openLeases();
  const [first, second] = [await take(leases, plan, 5), await take(leases, plan, 5)];
  scene.weather.refuses = true;
  leases.settle(first, 0);
  await runReady();
  leases.settle(second, 0);
  const sent = () => scene.ledger.calls.get('giveBack');
  assert.equal(sent(), 1, 'the second waits');
  scene.weather.refuses = false;
  await leases.reserve({ keyId: 'bob', plan, cost: 1 });
  await runReady();
  assert.equal(sent(), 2);
});

/*
 * Redis takes no units back by a number far below those that it has seen. Steps wait here in line behind those for a part of the
 * store that is away, while the keys of other parts are drawn for.
 */
test('the numbers of steps go up in the order in which they are first sent, also those of steps that waited', async () => {
  const scene = createLedgerScene();
  const numbers = new Set<number>();
  const note = ({ id }: { readonly id: string }): void => void numbers.add(Number(id.split('.')[1]));
  const ledger: Ledger = {
    ...scene.ledger,
    draw: (order) => (note(order), scene.ledger.draw(order)),
    giveBack: (order) => (note(order), scene.ledger.giveBack(order)),
    charge: (order) => (note(order), scene.ledger.charge(order)),
  };
  const leases = new Leases({ ...scene.options, ledger });
  const [free, cheap, dear] = [await take(leases, plan, 5), await take(leases, plan, 5), await take(leases)];
  scene.weather.refuses = true;
  leases.settle(free, 0);
  await runReady();
  leases.settle(cheap, 3);
  leases.settle(dear, 9);
  scene.weather.refuses = false;
  for (const keyId of ['bob', 'cyd']) await leases.reserve({ keyId, plan, cost: 1 });
  await scene.clock.pass(3000);
  assert.equal(scene.ledger.used('ada', 'month', may), 12);
  assert.deepEqual(
    [...numbers],
    [...numbers].toSorted((a, b) => a - b),
  );
});

test('a step that was refused gets its number when it is sent again, and one that may have been taken keeps it', async () => {
  for (const mayHaveHappened of [false, true]) {
    const scene = createLedgerScene();
    const tried: number[] = [];
    const ledger: Ledger = {
      ...scene.ledger,
      giveBack: (order) => {
        tried.push(Number(order.id.split('.')[1]));
        if (tried.length === 1) return Promise.reject(new StoreUnavailable('away', { mayHaveHappened }));
        return scene.ledger.giveBack(order);
      },
    };
    const leases = new Leases({ ...scene.options, ledger });
    leases.settle(await take(leases, plan, 5), 0);
    await runReady();
    for (const keyId of ['bob', 'cyd']) await leases.reserve({ keyId, plan, cost: 1 });
    await scene.clock.pass(500);
    const [first, again] = tried as [number, number];
    assert.equal(first === again, mayHaveHappened);
    assert.ok(first <= again);
    assert.equal(scene.ledger.used('ada', 'month', may), 0);
  }
});

test('a draw whose answer was lost is cancelled when the store is back, and its units come back', async () => {
  const { scene, leases } = openLeases();
  scene.weather.loses = true;
  await assert.rejects(take(leases, plan, 5), StoreUnavailable);
  assert.equal(scene.ledger.used('ada', 'month', may), 5);
  await scene.clock.pass(600);
  scene.weather.loses = false;
  await scene.clock.pass(600);
  assert.equal(scene.ledger.used('ada', 'month', may), 0);
  assert.equal(leases.counts.waitingSteps, 0);
});

/*
 * A gateway that drew on while every answer came too late would take units with each draw, and other gateways miss them until all
 * draws are cancelled.
 */
test('a key makes no other draw while one of its own may have run, and makes it as soon as that is undone', async () => {
  const { scene, leases } = openLeases();
  scene.weather.loses = true;
  for (let turn = 0; turn < 20; turn += 1) {
    await assert.rejects(take(leases, plan, 5), StoreUnavailable);
    await scene.clock.pass(100);
  }
  assert.equal(scene.ledger.draws.length, 1);
  await assert.rejects(async () => await leases.reserve({ keyId: 'bob', plan, cost: 1 }), StoreUnavailable);
  assert.equal(scene.ledger.draws.length, 2, 'another key has none of that');
  scene.weather.loses = false;
  await take(leases, plan, 5);
  assert.equal(scene.ledger.draws.length, 3);
  assert.equal(scene.ledger.used('ada', 'month', may), 5);
  const cancels = scene.ledger.calls.get('cancelDraw');
  await take(leases, plan, 5);
  assert.equal(scene.ledger.calls.get('cancelDraw'), cancels, 'what is undone is not in doubt any more');
});

test('nor while the one before that is undone once more', async () => {
  const scene = createLedgerScene();
  let undone = 0;
  const cancelDraw: Ledger['cancelDraw'] = (draw) =>
    scene.ledger.draws.indexOf(draw as DrawOrder) < undone
      ? Promise.resolve()
      : Promise.reject(new StoreUnavailable('lost', { mayHaveHappened: true }));
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, cancelDraw } });
  scene.weather.loses = true;
  await assert.rejects(take(leases), StoreUnavailable);
  undone = 1;
  await assert.rejects(take(leases), StoreUnavailable);
  await scene.clock.pass(3000);
  assert.equal(leases.counts.waitingSteps, 1);
  await assert.rejects(take(leases), StoreUnavailable);
  assert.equal(scene.ledger.draws.length, 2);
});

test('nor does a key that comes under two plans by turns', async () => {
  const { scene, leases } = openLeases();
  const other = aPlan({ quotas: plan.quotas });
  scene.weather.loses = true;
  for (let turn = 0; turn < 10; turn += 1) {
    await assert.rejects(take(leases, plan), StoreUnavailable);
    await assert.rejects(take(leases, other), StoreUnavailable);
    await scene.clock.pass(100);
  }
  assert.equal(scene.ledger.draws.length, 1);
});

test('so it is among so many keys that what has just been drawn for is forgotten', async () => {
  const { scene, leases } = openLeases();
  const tooDear = { plan: aPlan({ quotas: [aQuota(1)] }), cost: 2 };
  for (let nth = 0; nth <= manyLeases; nth += 1) await leases.reserve({ keyId: `k${nth}`, ...tooDear });
  const before = scene.ledger.draws.length;
  scene.weather.loses = true;
  for (let turn = 0; turn < 2; turn += 1) {
    await assert.rejects(take(leases, plan, 5), StoreUnavailable);
    await scene.clock.pass(100);
  }
  assert.equal(scene.ledger.draws.length, before + 1);
});

test('a draw whose counter cannot be read any more holds up none of the next period', async () => {
  const minute = aPlan({ quotas: [aQuota(10, 'minute')] });
  const scene = createLedgerScene(noon + 59_000);
  const spoilt = { cancelDraw: () => Promise.reject(new Unreadable('spoilt')) };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, ...spoilt } });
  scene.weather.loses = true;
  await assert.rejects(take(leases, minute), StoreUnavailable);
  scene.weather.loses = false;
  await scene.clock.pass(2000);
  await take(leases, minute);
  assert.equal(leases.counts.waitingSteps, 1);
});

test('draws that are never undone, as their keys rest and their steps were dropped, take no place from later ones', async () => {
  const { scene, leases } = openLeases({ stepsMax: 2 });
  const fail = (keyId: string): Promise<void> =>
    assert.rejects(async () => await leases.reserve({ keyId, plan, cost: 1 }), StoreUnavailable);
  scene.weather.loses = true;
  for (const keyId of ['k1', 'k2', 'k3', 'k1']) await fail(keyId);
  scene.weather.loses = false;
  await scene.clock.pass(3000);
  scene.weather.loses = true;
  for (const keyId of ['k4', 'k5', 'k4', 'k5']) await fail(keyId);
  assert.deepEqual(
    scene.ledger.draws.map(({ keyId }) => keyId),
    ['k1', 'k2', 'k3', 'k1', 'k4', 'k5'],
  );
});

for (const sweeps of [1, 2]) {
  test(`after an outage the store is told what is held then, whichever step it takes first, ${sweeps}`, async () => {
    const { scene, leases } = await openWarm();
    scene.weather.refuses = true;
    await assert.rejects(async () => await leases.reserve({ keyId: 'bob', plan, cost: 1 }), StoreUnavailable);
    // The step that asks whether the store is back is made while units are held. They are spent afterwards.
    await scene.clock.pass(500);
    const spend = async (): Promise<void> => {
      for (;;) await take(leases);
    };
    await assert.rejects(spend, StoreUnavailable);
    for (let passedMs = 0; leases.counts.leases > 0; passedMs += 10) {
      assert.ok(passedMs < 5000, 'the lease ends');
      await scene.clock.pass(10);
    }
    await scene.clock.pass(sweeps * 250);
    scene.weather.refuses = false;
    await scene.clock.pass(1000);
    assert.equal((await readMonth(scene))?.leased, 0);
  });
}

test('allow lets requests through during an outage and charges them, once, when it is over', async () => {
  const { scene, leases } = openLeases();
  scene.weather.refuses = true;
  const reservations = await Promise.all([
    take(leases, allowed),
    take(leases, allowed),
    take(leases, allowed),
  ]);
  assert.ok(reservations.every(({ owed }) => owed));
  leases.settle(reservations[0], 1);
  leases.settle(reservations[1], 1);
  leases.settle(reservations[2], 0);
  assert.equal(leases.counts.owingKeys, 1);
  scene.weather.refuses = false;
  scene.weather.loses = true;
  await scene.clock.pass(1000);
  scene.weather.loses = false;
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.used('ada', 'month', may), 2);
  assert.equal(leases.counts.owingKeys, 0);
});

test('what is owed is charged on top of usage that was set meanwhile, unless it had been charged and only the answer was lost', async () => {
  for (const [isLost, used] of [
    [false, 9],
    [true, 7],
  ] as const) {
    const { scene, leases } = openLeases();
    scene.weather.refuses = true;
    for (const reservation of [await take(leases, allowed), await take(leases, allowed)])
      leases.settle(reservation, 1);
    scene.weather.refuses = !isLost;
    scene.weather.loses = isLost;
    await scene.clock.pass(1000);
    assert.equal(scene.ledger.used('ada', 'month', may), isLost ? 2 : 0);
    scene.weather.refuses = false;
    scene.weather.loses = false;
    await scene.ledger.setUsage({ keyId: 'ada', counters: countersAt(allowed, may), spent: 7 });
    await scene.clock.pass(1000);
    assert.equal(scene.ledger.used('ada', 'month', may), used);
    assert.equal(leases.counts.owingKeys, 0);
  }
});

test('what a key owes adds up where it is: in an outage one charge waits for the store', async () => {
  const { scene, leases } = openLeases();
  scene.weather.refuses = true;
  for (let turn = 0; turn < 8; turn += 1) {
    leases.settle(await take(leases, allowed), 1);
    await scene.clock.pass(500);
  }
  assert.deepEqual([leases.counts.waitingSteps, leases.counts.owingKeys], [1, 1]);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.used('ada', 'month', may), 8);
});

test('what is owed is charged although a step of another key waits, whose counter is spoilt', async () => {
  const scene = createLedgerScene();
  const charge: Ledger['charge'] = (order) =>
    order.keyId === 'bob' ? Promise.reject(new Unreadable('spoilt')) : scene.ledger.charge(order);
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, charge } });
  const bob = await leases.reserve({ keyId: 'bob', plan, cost: 1 });
  assert.ok(bob.kind === 'reservation');
  leases.settle(bob, 2);
  scene.weather.refuses = true;
  leases.settle(await take(leases, allowed), 1);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  assert.equal(leases.counts.waitingSteps, 1);
  assert.equal(scene.ledger.used('ada', 'month', may), 1);
});

test('allow refuses while too many keys owe', async () => {
  const { scene, leases } = openLeases({ owingKeysMax: 2 });
  scene.weather.refuses = true;
  const ask = async (keyId: string) => await leases.reserve({ keyId, plan: allowed, cost: 1 });
  await ask('a');
  const free = await ask('b');
  await ask('a');
  await assert.rejects(ask('c'), StoreUnavailable);
  assert.ok(free.kind === 'reservation');
  leases.settle(free, 0);
  await ask('c');
});

test('a charge makes no room for units that come back, and is still made when the store is back', async () => {
  const { scene, leases } = openLeases({ stepsMax: 1 });
  const strict = aPlan({ quotas: [aQuota(100_000)], consistency: 'strict' });
  const [dear, free] = [await take(leases, strict), await take(leases, strict)];
  scene.weather.refuses = true;
  leases.settle(dear, 5);
  await runReady();
  leases.settle(free, 0);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.used('ada', 'month', may), 6, 'what came back is lost, what was spent is not');
  assert.deepEqual([leases.counts.waitingSteps, leases.counts.droppedSteps], [0, 1]);
});

for (const [name, spends, dropped] of [
  ['units that may have come back are not sent again', 0, 1],
  ['a charge that may have been made is made again', 5, 0],
] as const) {
  test(`${name} after nine minutes, when the store may soon have forgotten the step`, async () => {
    const { scene, leases } = openLeases();
    const reservation = await take(leases, plan, 3);
    scene.weather.loses = true;
    leases.settle(reservation, spends);
    await runReady();
    scene.weather.loses = false;
    scene.weather.refuses = true;
    await scene.clock.pass(9.5 * 60_000);
    scene.weather.refuses = false;
    await scene.clock.pass(1000);
    assert.deepEqual([leases.counts.waitingSteps, leases.counts.droppedSteps], [0, dropped]);
    assert.equal(scene.ledger.used('ada', 'month', may), spends);
  });
}

test('units that may have come back, and have not, do so after an outage of minutes', async () => {
  const scene = createLedgerScene();
  let isAway = false;
  const ledger: Ledger = {
    ...scene.ledger,
    giveBack: (order) =>
      isAway
        ? Promise.reject(new StoreUnavailable('cut off', { mayHaveHappened: true }))
        : scene.ledger.giveBack(order),
  };
  const leases = new Leases({ ...scene.options, ledger });
  const reservation = await take(leases, plan, 3);
  isAway = true;
  leases.settle(reservation, 0);
  await scene.clock.pass(8 * 60_000);
  assert.equal(scene.ledger.used('ada', 'month', may), 3);
  isAway = false;
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.used('ada', 'month', may), 0);
  assert.deepEqual([leases.counts.waitingSteps, leases.counts.droppedSteps], [0, 0]);
});

for (const [name, spends] of [
  ['comes back', 0],
  ['was spent', 3],
] as const) {
  test(`the store is told again of what ${name} although no key has a lease any more`, async () => {
    const { scene, leases } = openLeases();
    const reservation = await take(leases);
    await scene.clock.pass(1500);
    assert.deepEqual([leases.counts.leases, scene.clock.timers], [0, 0]);
    scene.weather.refuses = true;
    leases.settle(reservation, spends);
    await scene.clock.pass(1000);
    assert.equal(scene.ledger.used('ada', 'month', may), 1);
    scene.weather.refuses = false;
    await scene.clock.pass(1000);
    assert.equal(scene.ledger.used('ada', 'month', may), spends);
    await scene.clock.pass(1000);
    assert.equal(scene.clock.timers, 0);
  });
}

test('what many keys owe is charged, though few charges may wait at a time', async () => {
  const { scene, leases } = openLeases({ stepsMax: 1 });
  const keys = ['ada', 'bob', 'cyd'];
  scene.weather.refuses = true;
  for (const keyId of keys) {
    const reservation = await leases.reserve({ keyId, plan: allowed, cost: 1 });
    assert.ok(reservation.kind === 'reservation');
    leases.settle(reservation, 1);
  }
  scene.weather.refuses = false;
  scene.weather.takesMs = 5;
  await scene.clock.pass(3000);
  assert.deepEqual(
    keys.map((keyId) => scene.ledger.used(keyId, 'month', may)),
    [1, 1, 1],
  );
  assert.deepEqual([leases.counts.owingKeys, leases.counts.droppedSteps], [0, 0]);
});

test('what was owed is charged once, although other requests of the outage are still open', async () => {
  const { scene, leases } = openLeases();
  scene.weather.refuses = true;
  const [first, second] = [await take(leases, allowed), await take(leases, allowed)];
  leases.settle(first, 1);
  scene.weather.refuses = false;
  await scene.clock.pass(2000);
  assert.equal(scene.ledger.used('ada', 'month', may), 1);
  leases.settle(second, 1);
  await scene.clock.pass(2000);
  assert.equal(scene.ledger.used('ada', 'month', may), 2);
  assert.equal(leases.counts.owingKeys, 0);
});

test('of an outage that lasts into another period, each is charged what was spent in it', async () => {
  const { scene, leases } = openLeases({ start: noon + 59_900 });
  const minutely = aPlan({ quotas: [aQuota(10, 'minute')], onStoreFailure: 'allow' });
  scene.weather.refuses = true;
  const [before, late] = [await take(leases, minutely), await take(leases, minutely)];
  await scene.clock.pass(200);
  const after = await take(leases, minutely);
  leases.settle(before, 1);
  leases.settle(after, 3);
  leases.settle(late, 1);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.used('ada', 'minute', noon), 2);
  assert.equal(scene.ledger.used('ada', 'minute', noon + 60_000), 3);
});

test('of a long outage the last two periods are charged: what is owed stays bounded', async () => {
  const { scene, leases } = openLeases({ start: noon });
  const minutely = aPlan({ quotas: [aQuota(10, 'minute')], onStoreFailure: 'allow' });
  scene.weather.refuses = true;
  const late = await take(leases, minutely);
  for (const units of [1, 2, 3]) {
    leases.settle(await take(leases, minutely), units);
    if (units < 3) await scene.clock.pass(60_000);
  }
  leases.settle(late, 4);
  scene.weather.refuses = false;
  await scene.clock.pass(1000);
  const used = [0, 1, 2].map((minute) => scene.ledger.used('ada', 'minute', noon + minute * 60_000));
  assert.deepEqual(used, [1, 2, 3], 'the first unit already waits for the store, what came late is lost');
});

test('of an outage in which a key comes under two plans, the day and the month of one name are both charged', async () => {
  for (const order of [['day', 'month'] as const, ['month', 'day'] as const]) {
    const { scene, leases } = openLeases();
    scene.weather.refuses = true;
    for (const per of [...order, ...order]) {
      const quotas = [aQuota(10, per, { name: 'calls' })];
      const reservation = await take(leases, aPlan({ quotas, onStoreFailure: 'allow' }));
      leases.settle(reservation, per === 'day' ? 1 : 2);
    }
    scene.weather.refuses = false;
    await scene.clock.pass(1000);
    const today = Date.UTC(2026, 4, 5);
    assert.deepEqual(
      [scene.ledger.used('ada', 'calls', today), scene.ledger.used('ada', 'calls', may)],
      [2, 4],
    );
  }
});

test('a fault of the program lets nobody through, whatever the plan says of outages', async () => {
  const scene = createLedgerScene();
  const ledger = { ...scene.ledger, draw: () => Promise.reject(new TypeError('a bug')) };
  const leases = new Leases({ ...scene.options, ledger });
  await assert.rejects(async () => await take(leases, allowed), TypeError);
  assert.equal(scene.problems.length, 1);
  assert.equal(leases.counts.owingKeys, 0);
});

test('a counter that cannot be read keeps nothing of other keys from the store', async () => {
  const scene = createLedgerScene();
  const draw: Ledger['draw'] = (order) =>
    order.keyId === 'ada' ? Promise.reject(new Unreadable('no counter')) : scene.ledger.draw(order);
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, draw } });
  const bob = await leases.reserve({ keyId: 'bob', plan, cost: 3 });
  assert.ok(bob.kind === 'reservation');
  await assert.rejects(async () => await take(leases), Unreadable);
  await assert.rejects(async () => await take(leases, allowed), Unreadable);
  assert.equal(leases.counts.owingKeys, 0, 'nothing is lent that could never be charged');
  leases.settle(bob, 5);
  await runReady();
  assert.equal(scene.ledger.used('bob', 'month', may), 5);
});
