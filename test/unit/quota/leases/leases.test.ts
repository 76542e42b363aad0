import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanRule } from '../../../../src/config/plan-rule.ts';
import { countersAt } from '../../../../src/quota/counters.ts';
import { manyLeases } from '../../../../src/quota/leases/lease-steps.ts';
import { Leases } from '../../../../src/quota/leases/leases.ts';
import type { Ledger } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable } from '../../../../src/stores/store-unavailable.ts';
import { aClient } from '../../../helpers/a-client.ts';
import { aPlan, aQuota } from '../../../helpers/a-plan.ts';
import {
  may,
  openLeases,
  openWarm,
  openWithLateAnswers,
  plan,
  readMonth,
  take,
  warmUp,
} from '../../../helpers/lease-callers.ts';
import { createLedgerScene } from '../../../helpers/ledger-scene.ts';
import { settle as runReady } from '../../../helpers/turnable-clock.ts';

const single = aPlan({ quotas: [aQuota(1)] });
const thousand = aPlan({ quotas: [aQuota(1000)] });

test('a crash strands at most the one lease, which is a second of the pace', async () => {
  const scene = createLedgerScene();
  const spent = await warmUp(scene, new Leases(scene.options));
  const stranded = scene.ledger.used('ada', 'month', may) - spent;
  assert.ok(stranded > 0 && stranded <= 125, `${stranded} stranded at a pace of 100 a second`);
});

test('units that are held here are not told as used', async () => {
  const { leases, spent } = await openWarm();
  assert.equal((await leases.read('ada', plan))[0]?.used, spent);
});

test('no more than a thousand units are held, however fast a key is', async () => {
  const { scene, leases } = openLeases();
  const large = aPlan({ quotas: [aQuota(1e9)] });
  let spent = 0;
  let heldMost = 0;
  for (let turn = 0; turn < 100; turn += 1) {
    for (let count = 0; count < 50; count += 1) await take(leases, large);
    spent += 50;
    heldMost = Math.max(heldMost, scene.ledger.used('ada', 'month', may) - spent);
    await scene.clock.pass(1);
  }
  assert.ok(heldMost > 500 && heldMost <= 1250, `${heldMost} were held`);
});

test('a thousand requests at once wait for one draw in flight at a time, and two in all', async () => {
  const { scene, leases } = openLeases();
  scene.weather.takesMs = 5;
  const answers = Array.from({ length: 1000 }, () => take(leases));
  assert.equal(scene.ledger.draws.length, 1);
  await scene.clock.pass(20);
  await Promise.all(answers);
  assert.equal(scene.ledger.draws.length, 2);
});

test('units that are not spent go back when the key is idle, and nothing stays in memory', async () => {
  const { scene, leases, spent } = await openWarm();
  await scene.clock.pass(1500);
  assert.equal(scene.ledger.used('ada', 'month', may), spent);
  assert.equal(leases.counts.leases, 0);
  await scene.clock.pass(1000);
  assert.equal(scene.clock.timers, 0, 'no timer runs for nobody');
});

test('a key that rests gives back what it holds in one step, however many do so at once', async () => {
  const scene = createLedgerScene();
  let steps = 0;
  const ledger: Ledger = {
    ...scene.ledger,
    giveBack: async (order) => {
      steps += 1;
      await scene.ledger.giveBack(order);
    },
  };
  const leases = new Leases({ ...scene.options, ledger });
  const keys = Array.from({ length: 200 }, (_, at) => `k${at}`);
  const spent = keys.flatMap((keyId) => Array.from({ length: 4 }, () => ({ keyId, plan, cost: 1 })));
  await Promise.all(spent.map(async (order) => await leases.reserve(order)));
  await Promise.all(keys.map(async (keyId) => await leases.reserve({ keyId, plan, cost: 1 })));
  await scene.clock.pass(3000);
  assert.equal(leases.counts.leases, 0);
  assert.equal(steps, keys.length);
});

test('where very many keys draw one by one, they leave memory at once, and one that draws ahead does not', async () => {
  const { leases } = await openWarm();
  for (let key = 0; key < manyLeases + 1000; key += 1)
    await leases.reserve({ keyId: `key ${key}`, plan, cost: 1 });
  assert.equal(leases.counts.leases, manyLeases);
  assert.ok(!(leases.reserve({ keyId: 'ada', plan, cost: 1 }) instanceof Promise), 'ada draws ahead');
});

test('keys that were turned away leave memory in a moment where there are very many', async () => {
  const { scene, leases } = openLeases();
  for (let key = 0; key < 2 * manyLeases + 1000; key += 1)
    await leases.reserve({ keyId: `key ${key}`, plan, cost: 1_000_000 });
  assert.equal(leases.counts.leases, 2 * manyLeases + 1000);
  await scene.clock.pass(600);
  assert.ok(leases.counts.leases <= 2 * manyLeases, `${leases.counts.leases}`);
});

test('a key that asks a few times a second draws ahead', async () => {
  const { scene, leases } = openLeases();
  for (let request = 0; request < 50; request += 1) {
    await take(leases);
    await scene.clock.pass(400);
  }
  assert.ok(scene.ledger.draws.length < 25, `${scene.ledger.draws.length} draws for 50 requests`);
});

test('a sweep over more keys than it looks at in one go goes on as one, however much goes back meanwhile', async () => {
  const { scene, leases } = openLeases();
  for (const pause of [100, 500]) {
    for (let key = 0; key < 6000; key += 1) {
      await leases.reserve({ keyId: `key ${key}`, plan, cost: 1 });
    }
    await scene.clock.pass(pause);
  }
  let most = 0;
  for (let turn = 0; turn < 400; turn += 1) {
    await scene.clock.pass(5);
    most = Math.max(most, scene.clock.timers);
  }
  assert.equal(leases.counts.leases, 0);
  assert.equal(most, 1);
});

test('a key that slows down gives back what its pace does not need, though it never rests', async () => {
  const { scene, leases } = openLeases();
  let spent = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    for (let count = 0; count < 10; count += 1) await take(leases);
    spent += 10;
    await scene.clock.pass(10);
  }
  assert.ok(scene.ledger.used('ada', 'month', may) - spent > 100, 'a second of a thousand is held');
  for (let turn = 0; turn < 20; turn += 1) {
    await take(leases);
    spent += 1;
    await scene.clock.pass(600);
  }
  const held = scene.ledger.used('ada', 'month', may) - spent;
  assert.ok(held <= 2, `${held} are held for a request now and then`);
});

test('what a key has given back is known here as left', async () => {
  const { scene, leases, ...warm } = await openWarm();
  let { spent } = warm;
  const before = scene.ledger.calls.get('giveBack');
  const { lease } = await take(leases);
  for (spent += 1; scene.ledger.calls.get('giveBack') === before; spent += 1) {
    await take(leases);
    await scene.clock.pass(600);
  }
  assert.deepEqual(lease.used, [spent + lease.units]);
});

test('a lease that fits the pace is left alone', async () => {
  const { scene, leases, ...warm } = await openWarm();
  let { spent } = warm;
  const before = scene.ledger.calls.get('giveBack') ?? 0;
  for (let second = 0; second < 3; second += 1) spent += await warmUp(scene, leases);
  assert.equal(scene.ledger.calls.get('giveBack') ?? 0, before);
  const held = scene.ledger.used('ada', 'month', may) - spent;
  assert.ok(held <= 125, `${held} are held at the same pace`);
});

test('a drain gives back what more keys hold than there is room for at once', async () => {
  const { scene, leases } = openLeases({ stepsMax: 4 });
  const keys = Array.from({ length: 50 }, (_, at) => `k${at}`);
  const spent = keys.flatMap((keyId) => Array.from({ length: 4 }, () => ({ keyId, plan, cost: 1 })));
  await Promise.all(spent.map(async (order) => await leases.reserve(order)));
  assert.ok(keys.every((keyId) => scene.ledger.used(keyId, 'month', may) > 4));
  await leases.drain();
  assert.deepEqual(new Set(keys.map((keyId) => scene.ledger.used(keyId, 'month', may))), new Set([4]));
  assert.deepEqual([leases.counts.leases, leases.counts.droppedSteps], [0, 0]);
});

test('a drain tells the store that what was held has been spent', async () => {
  const { scene, leases } = openLeases();
  await Promise.all(Array.from({ length: 4 }, () => take(leases)));
  assert.deepEqual(await readMonth(scene), { used: 6, leased: 2 });
  await take(leases, plan, 2);
  await leases.drain();
  assert.deepEqual(await readMonth(scene), { used: 6, leased: 0 });
});

for (const [name, spends] of [
  ['cost nothing', 0],
  ['cost more than it said', 5],
] as const) {
  test(`a request that outlives its lease and its plan, and ${name}, leaves told what the next lease holds`, async () => {
    const { scene, leases } = openLeases();
    const slow = await take(leases, aPlan({ quotas: plan.quotas }), 3);
    await scene.clock.pass(1500);
    assert.equal(leases.counts.leases, 0);
    const spent = await warmUp(scene, leases);
    const before = await readMonth(scene);
    leases.settle(slow, spends);
    await runReady();
    const after = await readMonth(scene);
    const held = (after?.used ?? 0) - spent - spends;
    assert.ok(held > 0);
    assert.deepEqual(after, { used: (before?.used ?? 0) + spends - 3, leased: held });
    await scene.clock.pass(1500);
    assert.deepEqual(await readMonth(scene), { used: spent + spends, leased: 0 });
  });
}

test('near its end a quota is drawn one by one, to the last unit', async () => {
  const { scene, leases } = openLeases();
  const few = aPlan({ quotas: [aQuota(20)] });
  for (let count = 0; count < 20; count += 1) await take(leases, few);
  assert.deepEqual(
    scene.ledger.draws.map(({ want }) => want),
    Array.from({ length: 20 }, () => 1),
  );
  assert.equal((await leases.reserve({ keyId: 'ada', plan: few, cost: 1 })).kind, 'exhausted');
});

test('the last units are spent by dear requests too, however many processes try for them without a rest', async () => {
  const scene = createLedgerScene();
  const rule = aPlan({ quotas: [aQuota(10_000)] });
  const all = Array.from({ length: 6 }, (_, at) => new Leases({ ...scene.options, holder: `${at}` }));
  let passed = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    for (const leases of all) {
      const answer = await leases.reserve({ keyId: 'ada', plan: rule, cost: 100 });
      if (answer.kind === 'reservation') passed += 1;
    }
    await scene.clock.pass(10);
  }
  assert.equal(passed, 100);
});

test('a process that serves dear requests holds nothing that another lacks for the last one', async () => {
  const { scene, leases } = openLeases();
  const other = new Leases({ ...scene.options, holder: 'two' });
  const rule = aPlan({ quotas: [aQuota(5000)] });
  for (let count = 0; count < 9; count += 1) {
    await take(leases, rule, 500);
    await scene.clock.pass(20);
  }
  assert.deepEqual(await readMonth(scene), { used: 4500, leased: 0 });
  await take(other, rule, 500);
});

test('one dear request does not end the drawing ahead for the cheap ones that follow', async () => {
  const { scene, leases } = openLeases();
  const rule = aPlan({ quotas: [aQuota(10_000)] });
  await take(leases, rule, 500);
  for (let count = 0; count < 2000; count += 1) {
    await take(leases, rule);
    await scene.clock.pass(5);
  }
  assert.ok(scene.ledger.draws.length < 400, `${scene.ledger.draws.length} draws`);
});

test('strict never draws more than requests wait for', async () => {
  const scene = createLedgerScene();
  const strict = aPlan({ quotas: [aQuota(100_000)], consistency: 'strict' });
  await warmUp(scene, new Leases(scene.options), strict);
  assert.ok(scene.ledger.draws.every(({ need, want }) => need === 1 && want === 1));
});

test('a denied key that hammers does not reach the store each time, and a unit given back is usable at once', async () => {
  const { scene, leases } = openLeases();
  const reservation = await take(leases, single);
  for (let count = 0; count < 50; count += 1) {
    assert.equal((await leases.reserve({ keyId: 'ada', plan: single, cost: 1 })).kind, 'exhausted');
  }
  assert.equal(scene.ledger.draws.length, 2);
  leases.settle(reservation, 0);
  assert.ok(!(leases.reserve({ keyId: 'ada', plan: single, cost: 1 }) instanceof Promise));
});

test('a strict key can draw a unit again as soon as it was given back', async () => {
  const { leases } = openLeases();
  const strict = aPlan({ ...single, consistency: 'strict' });
  const reservation = await take(leases, strict);
  assert.equal((await leases.reserve({ keyId: 'ada', plan: strict, cost: 1 })).kind, 'exhausted');
  leases.settle(reservation, 0);
  await take(leases, strict);
});

test('a request that is too dear does not turn away a cheaper one after it', async () => {
  const { leases } = openLeases();
  const three = aPlan({ quotas: [aQuota(3)] });
  assert.equal((await leases.reserve({ keyId: 'ada', plan: three, cost: 5 })).kind, 'exhausted');
  await take(leases, three, 1);
});

test('what was held when a dear request was turned away is there for a less dear one at once', async () => {
  const { scene, leases } = openLeases();
  const spent = await warmUp(scene, leases, thousand);
  const left = 1000 - spent;
  assert.equal((await leases.reserve({ keyId: 'ada', plan: thousand, cost: left + 1 })).kind, 'exhausted');
  await take(leases, thousand, left);
});

test('what is held when a dear request is turned away serves a cheaper one behind it, and no more is drawn for that', async () => {
  const { scene, leases } = openLeases();
  const spent = await warmUp(scene, leases, thousand);
  const asked = [1001 - spent, 1].map(async (cost) => leases.reserve({ keyId: 'ada', plan: thousand, cost }));
  const draws = scene.ledger.draws.length;
  const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['exhausted', 'reservation']);
  assert.equal(scene.ledger.draws.length, draws);
});

test('units that come back do not overtake: the first in line is served first', async () => {
  const { scene, leases } = openLeases();
  const reservation = await take(leases, plan, 2);
  scene.weather.takesMs = 5;
  const served: number[] = [];
  const asked = [5, 1].map(async (cost) => served.push((await take(leases, plan, cost)).units));
  leases.settle(reservation, 0);
  await scene.clock.pass(30);
  await Promise.all(asked);
  assert.deepEqual(served, [5, 1]);
});

test('a cheap request does not overtake a dear one that waits for more than is held', async () => {
  const { leases } = await openWarm();
  const served: number[] = [];
  const asked = [5000, 1].map(async (cost) => served.push((await take(leases, plan, cost)).units));
  await Promise.all(asked);
  assert.deepEqual(served, [5000, 1]);
});

test('many requests that fail at once leave no more than a lease behind', async () => {
  const { scene, leases } = await openWarm();
  const reservations = await Promise.all(Array.from({ length: 2000 }, () => take(leases)));
  for (const reservation of reservations) leases.settle(reservation, 0);
  await scene.clock.pass(1);
  const stranded = scene.ledger.used('ada', 'month', may) - 100;
  assert.ok(stranded <= 1000, `${stranded} units would be lost by a crash`);
});

test('a denial is forgotten after 50 ms, so that units of other processes are found', async () => {
  const { scene, leases } = openLeases();
  const other = new Leases({ ...scene.options, holder: 'two' });
  const reservation = await take(other, single);
  assert.equal((await leases.reserve({ keyId: 'ada', plan: single, cost: 1 })).kind, 'exhausted');
  other.settle(reservation, 0);
  await scene.clock.pass(51);
  await take(leases, single);
});

test('a request that costs too much is refused, and a cheaper one behind it is served', async () => {
  const { scene, leases } = openLeases();
  scene.weather.takesMs = 5;
  const few = aPlan({ quotas: [aQuota(3)] });
  const answers = [5, 4, 2, 1].map(async (cost) => await leases.reserve({ keyId: 'ada', plan: few, cost }));
  await scene.clock.pass(50);
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['exhausted', 'exhausted', 'reservation', 'reservation']);
});

test('for a client that has left already nothing is drawn', async () => {
  const { scene, leases } = openLeases();
  const client = aClient();
  client.leave(new Error('gone'));
  const answer = leases.reserve({ keyId: 'ada', plan, cost: 7, whenLeft: client.whenLeft });
  await assert.rejects(async () => await answer, /gone/);
  await scene.clock.pass(2000);
  assert.deepEqual(scene.ledger.draws, []);
});

test('a drain waits for all draws that are under way, and gives back what they bring', async () => {
  const { scene, leases } = openLeases();
  scene.weather.takesMs = 50;
  for (const keyId of ['bob', 'ada']) {
    const client = aClient();
    const asked = leases.reserve({ keyId, plan, cost: 3, whenLeft: client.whenLeft });
    client.leave(new Error('left'));
    await assert.rejects(async () => await asked, /left/);
    await scene.clock.pass(20);
  }
  scene.weather.takesMs = 0;
  const atTheEnd = leases
    .drain()
    .then(() => [scene.ledger.calls.get('giveBack'), scene.ledger.used('ada', 'month', may)]);
  await scene.clock.pass(1000);
  assert.equal(scene.ledger.draws.length, 2);
  assert.deepEqual(await atTheEnd, [2, 0]);
});

test('what was drawn for a client that has left goes back at once, though others are served by the same draw', async () => {
  const { scene, leases } = openLeases();
  const strict = aPlan({ quotas: plan.quotas, consistency: 'strict' });
  const client = aClient();
  scene.weather.takesMs = 5;
  const first = take(leases, strict);
  const left = leases.reserve({ keyId: 'ada', plan: strict, cost: 3, whenLeft: client.whenLeft });
  const last = take(leases, strict);
  await scene.clock.pass(7);
  assert.equal(scene.ledger.draws.at(-1)?.want, 4, 'a draw for both that wait is under way');
  client.leave(new Error('left'));
  await assert.rejects(async () => await left, /left/);
  await scene.clock.pass(10);
  await Promise.all([first, last]);
  assert.equal(scene.ledger.used('ada', 'month', may), 2);
});

test('what was drawn ahead under a plan that the key has no more when it comes goes back', async () => {
  const { scene, leases, holdAnswers } = openWithLateAnswers();
  let spent = await warmUp(scene, leases);
  const letGo = holdAnswers();
  const draws = scene.ledger.draws.length;
  for (; scene.ledger.draws.length === draws; spent += 1) await take(leases);
  const asked = take(leases, aPlan({ quotas: plan.quotas }));
  letGo();
  await asked;
  await runReady();
  assert.equal(scene.ledger.used('ada', 'month', may), spent + 1);
});

test('a draw that fails when its lease has ended leaves nothing told as held', async () => {
  const scene = createLedgerScene();
  const fails = Promise.withResolvers<never>();
  const asked: string[] = [];
  let isHeldUp = false;
  const draw: Ledger['draw'] = async (order) => {
    asked.push(order.id);
    return isHeldUp ? fails.promise : scene.ledger.draw(order);
  };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, draw } });
  let spent = await warmUp(scene, leases);
  isHeldUp = true;
  for (const before = asked.length; asked.length === before; spent += 1) await take(leases);
  isHeldUp = false;
  await take(leases, aPlan({ quotas: [aQuota(100_000, 'day')] }));
  fails.reject(new StoreUnavailable('refused', { mayHaveHappened: false }));
  await runReady();
  assert.deepEqual(await readMonth(scene), { used: spent, leased: 0 });
});

test('a lower limit denies at once, units in hand included', async () => {
  const { leases } = await openWarm();
  const lower = aPlan({ quotas: [aQuota(50)] });
  assert.equal((await leases.reserve({ keyId: 'ada', plan: lower, cost: 1 })).kind, 'exhausted');
});

test('requests of one key under two plans, that wait together, are each counted by their own', async () => {
  const { scene, leases } = openLeases();
  scene.weather.takesMs = 5;
  const small = aPlan({ quotas: [{ ...aQuota(5), name: 'small' }] });
  const large = aPlan({ quotas: [{ ...aQuota(100_000), name: 'large' }] });
  const ask = async (rule: PlanRule) =>
    Promise.all(
      Array.from({ length: 10 }, async () => leases.reserve({ keyId: 'ada', plan: rule, cost: 1 })),
    );
  const waiting = [ask(small), ask(large), ask(small), ask(large)];
  await scene.clock.pass(200);
  const answers = await Promise.all(waiting);
  const held = answers.map((line) => line.filter(({ kind }) => kind === 'reservation').length);
  assert.deepEqual([held[0]! + held[2]!, held[1], held[3]], [5, 10, 10]);
  await scene.clock.pass(3000);
  assert.equal(scene.ledger.used('ada', 'small', may), 5);
  assert.equal(scene.ledger.used('ada', 'large', may), 20);
  assert.equal(leases.counts.leases, 0);
});

test('a request that cost more is charged beyond the limit, one that cost less gives back', async () => {
  const { scene, leases } = openLeases();
  const few = aPlan({ quotas: [aQuota(5)] });
  const first = await take(leases, few, 3);
  const second = await take(leases, few, 2);
  leases.settle(first, 1);
  leases.settle(second, 9);
  await runReady();
  assert.equal(scene.ledger.used('ada', 'month', may), 10);
});

test('a request that cost more than is left ends what was drawn ahead: the next one is refused', async () => {
  const { scene, leases, spent } = await openWarm();
  leases.settle(await take(leases), 1_000_000);
  await runReady();
  assert.equal(scene.ledger.used('ada', 'month', may), spent + 1_000_000);
  assert.equal((await leases.reserve({ keyId: 'ada', plan, cost: 1 })).kind, 'exhausted');
});

test('so does one that took so long that its lease has ended, and another has been drawn for its key', async () => {
  const { scene, leases } = openLeases();
  const slow = await take(leases);
  await scene.clock.pass(5000);
  const spent = await warmUp(scene, leases);
  leases.settle(slow, 1_000_000);
  await runReady();
  assert.equal(scene.ledger.used('ada', 'month', may), spent + 1_000_000);
  assert.equal((await leases.reserve({ keyId: 'ada', plan, cost: 1 })).kind, 'exhausted');
});

test('what a slow request gives back after its lease has ended is usable at once, though its key has been turned away', async () => {
  const { scene, leases } = openLeases();
  const few = aPlan({ quotas: [aQuota(2)] });
  const slow = await take(leases, few);
  await scene.clock.pass(5000);
  await take(leases, few);
  assert.equal((await leases.reserve({ keyId: 'ada', plan: few, cost: 1 })).kind, 'exhausted');
  leases.settle(slow, 0);
  assert.equal((await leases.reserve({ keyId: 'ada', plan: few, cost: 1 })).kind, 'reservation');
});

test('of requests that cost more than they say none is granted beyond the quota when they come one by one', async () => {
  const { scene, leases } = openLeases();
  const few = aPlan({ quotas: [aQuota(10_000)] });
  let granted = 0;
  for (; granted < 1000; granted += 1) {
    const reservation = await leases.reserve({ keyId: 'ada', plan: few, cost: 1 });
    if (reservation.kind !== 'reservation') break;
    leases.settle(reservation, 50);
    await scene.clock.pass(1);
  }
  assert.equal(granted, 200);
});

test('a cost that is corrected while a draw is under way leaves told what the draw brings, and at rest nothing is told', async () => {
  const { scene, leases, holdAnswers } = openWithLateAnswers();
  const spent = await warmUp(scene, leases);
  const letGo = holdAnswers();
  const draws = scene.ledger.draws.length;
  let taken = 0;
  let last = await take(leases);
  for (; scene.ledger.draws.length === draws; taken += 1) last = await take(leases);
  leases.settle(last, 100);
  await runReady();
  const told = (await readMonth(scene))!.leased;
  letGo();
  await runReady();
  const held = (await readMonth(scene))!.used - (await leases.read('ada', plan))[0]!.used;
  assert.ok(held > 0 && told >= held, `${told} told, ${held} held`);
  await scene.clock.pass(3000);
  assert.deepEqual(await readMonth(scene), { used: spent + taken + 100, leased: 0 });
});

test('what a draw might have brought is not told for longer than its key is in use', async () => {
  const { scene, leases, holdAnswers } = openWithLateAnswers();
  await warmUp(scene, leases);
  const [dear, last] = [await take(leases), await take(leases)];
  leases.settle(dear, 200);
  await runReady();
  const counters = countersAt(plan, may);
  const units = 99_999 - (await readMonth(scene))!.used;
  await scene.ledger.charge({
    id: 'o.1',
    openFrom: 1,
    keyId: 'ada',
    counters,
    units,
    holder: 'other',
    held: [0],
  });
  const letGo = holdAnswers();
  const waiting = take(leases);
  await runReady();
  leases.settle(last, 2);
  await runReady();
  assert.ok((await readMonth(scene))!.leased > 0);
  letGo();
  await waiting;
  await scene.clock.pass(3000);
  assert.deepEqual(await readMonth(scene), { used: 100_001, leased: 0 });
});

test('what is told by a step whose answer is lost is not told for longer than its key is in use', async () => {
  const scene = createLedgerScene();
  let loses = false;
  const giveBack: Ledger['giveBack'] = async (order) => {
    await scene.ledger.giveBack(order);
    if (!loses) return;
    loses = false;
    scene.weather.refuses = true;
    throw new StoreUnavailable('lost', { mayHaveHappened: true });
  };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, giveBack } });
  let spent = await warmUp(scene, leases);
  loses = true;
  for (; !scene.weather.refuses; spent += 1) {
    await take(leases);
    await scene.clock.pass(200);
  }
  const granted = () => take(leases).catch(() => undefined);
  for (; (await granted()) !== undefined; spent += 1);
  await scene.clock.pass(300);
  scene.weather.refuses = false;
  await scene.clock.pass(3000);
  assert.deepEqual(await readMonth(scene), { used: spent, leased: 0 });
});

test('a busy key does not wait for the store: the next lease is drawn before the last one is spent', async () => {
  const { scene, leases } = await openWarm();
  scene.weather.takesMs = 20;
  for (let turn = 0; turn < 300; turn += 1) {
    assert.ok(!(leases.reserve({ keyId: 'ada', plan, cost: 1 }) instanceof Promise), `request ${turn} waits`);
    await scene.clock.pass(10);
  }
});

test('while more is drawn ahead no other draw is made, however many take of what is left meanwhile', async () => {
  const { scene, leases, holdAnswers } = openWithLateAnswers();
  await warmUp(scene, leases);
  const letGo = holdAnswers();
  const draws = scene.ledger.draws.length;
  while (scene.ledger.draws.length === draws) await take(leases);
  for (let nth = 0; nth < 10; nth += 1) await take(leases);
  assert.equal(scene.ledger.draws.length, draws + 1);
  letGo();
});

test('usage is never told to be less than was used before it was asked for, though more was drawn meanwhile', async () => {
  const scene = createLedgerScene();
  const arrives = Promise.withResolvers<void>();
  const readUsage: typeof scene.ledger.readUsage = async (...question) => {
    const answer = await scene.ledger.readUsage(...question);
    await arrives.promise;
    return answer;
  };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, readUsage } });
  let spent = await warmUp(scene, leases);
  const reading = leases.read('ada', plan);
  const drawn = scene.ledger.draws.length;
  const before = spent;
  while (scene.ledger.draws.length === drawn) spent += await warmUp(scene, leases);
  arrives.resolve();
  const used = (await reading)[0]?.used ?? 0;
  assert.ok(used >= before && used <= spent, `${used} of ${before} to ${spent}`);
});

test('units that go back while usage is read do not make it less than was used', async () => {
  const { scene, leases } = openLeases();
  const other = new Leases({ ...scene.options, holder: 'two' });
  const spent = await warmUp(scene, leases);
  await take(other, plan, 500);
  scene.weather.takesMs = 50;
  const reading = leases.read('ada', plan);
  scene.weather.takesMs = 0;
  await leases.drain();
  await scene.clock.pass(50);
  assert.equal((await reading)[0]?.used, spent + 500);
});

test('the last units of a quota stay where they are asked for', async () => {
  const { scene, leases } = openLeases();
  const other = new Leases({ ...scene.options, holder: 'two' });
  const month = () => scene.ledger.used('ada', 'month', may);
  await warmUp(scene, leases);
  await take(other, plan, 100_000 - month() - 20);
  const draws = scene.ledger.draws.length;
  while (scene.ledger.draws.length === draws) await take(leases);
  const before = scene.ledger.calls.get('giveBack');
  for (let turn = 0; turn < 10; turn += 1) {
    await scene.clock.pass(50);
    await take(leases);
  }
  assert.equal(scene.ledger.calls.get('giveBack'), before);
});

test('the last units of a quota do not rest where nobody asks for them', async () => {
  const { scene, leases } = openLeases();
  const other = new Leases({ ...scene.options, holder: 'two' });
  const month = () => scene.ledger.used('ada', 'month', may);
  await warmUp(scene, leases);
  await take(other, plan, 100_000 - month() - 20);
  while (month() < 100_000) await take(leases);
  await take(leases);
  await scene.clock.pass(600);
  assert.ok(month() < 100_000, 'they are back before the key is idle');
  await take(other);
});
