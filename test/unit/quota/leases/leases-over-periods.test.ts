import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countersAt } from '../../../../src/quota/counters.ts';
import { Leases } from '../../../../src/quota/leases/leases.ts';
import type { DrawAnswer, DrawOrder } from '../../../../src/stores/ledger.ts';
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

const noon = Date.UTC(2026, 4, 5, 12);
const minute = aPlan({ quotas: [aQuota(10_000, 'minute')] });
const both = aPlan({ quotas: [...minute.quotas, ...plan.quotas] });
const daily = aPlan({ quotas: [aQuota(10, 'day')] });

test('when the minute rolls over, the share of the month is not lost and the old minute is not spent', async () => {
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12, 0, 58) });
  const spent = await warmUp(scene, leases, both);
  await scene.clock.pass(1000);
  const reservation = await take(leases, both);
  assert.equal(reservation.counters[0]?.periodStart, Date.UTC(2026, 4, 5, 12, 1));
  await runReady();
  assert.equal(scene.ledger.used('ada', 'month', may), spent + 1);
  assert.equal(scene.ledger.used('ada', 'minute', Date.UTC(2026, 4, 5, 12)), spent);
});

test('that what was held of the month is spent is told, though the minute has ended and nothing is left to draw', async () => {
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12, 0, 59, 500) });
  await Promise.all(Array.from({ length: 4 }, () => take(leases, both)));
  await take(leases, both, 2);
  assert.deepEqual(await readMonth(scene), { used: 6, leased: 2 });
  const counters = countersAt(plan, may);
  await scene.ledger.charge({
    id: 'o.1',
    openFrom: 1,
    keyId: 'ada',
    counters,
    units: 100_000,
    holder: 'other',
    held: [0],
  });
  await scene.clock.pass(600);
  const { kind } = await leases.reserve({ keyId: 'ada', plan: both, cost: 1 });
  assert.equal(kind, 'exhausted');
  await scene.clock.pass(3000);
  assert.equal((await readMonth(scene))?.leased, 0);
});

test('a request that outlives its minute, and cost more than it said, leaves nothing told as held of that minute', async () => {
  const { scene, leases } = openLeases({ start: noon + 59_900 });
  const slow = await take(leases, both, 3);
  await scene.clock.pass(200);
  const spent = await warmUp(scene, leases, both);
  leases.settle(slow, 5);
  await scene.clock.pass(1500);
  const usage = await scene.ledger.readUsage('ada', countersAt(both, noon));
  assert.deepEqual(usage, [
    { used: 5, leased: 0 },
    { used: spent + 5, leased: 0 },
  ]);
});

test('what comes back of a minute that has ended is not known here as left of the next', async () => {
  const { scene, leases } = openLeases({ start: noon + 59_900 });
  const slow = await take(leases, minute, 3);
  await scene.clock.pass(200);
  const { lease } = await take(leases, minute);
  leases.settle(slow, 0);
  assert.deepEqual(lease.used, [1]);
});

test('what comes back of a minute that has ended leaves what is held of the month told as held', async () => {
  const { scene, leases } = openLeases({ start: noon + 59_900 });
  const slow = await take(leases, both, 3);
  await scene.clock.pass(200);
  const spent = await warmUp(scene, leases, both);
  leases.settle(slow, 0);
  await runReady();
  const { used, leased } = (await readMonth(scene))!;
  assert.equal(used - leased, spent, 'usage that is set now has counted on top all that may still be spent');
  assert.ok(leased > 0);
});

test('of a quota that its plan has no more a key is not told to hold what it holds of others', async () => {
  const { scene, leases } = openLeases({ start: noon });
  const slow = await take(leases, both, 3);
  await warmUp(scene, leases, plan);
  leases.settle(slow, 50);
  await runReady();
  assert.deepEqual(await scene.ledger.readUsage('ada', countersAt(minute, noon)), [{ used: 50, leased: 0 }]);
});

test('a minute that ends while a draw is under way leaves told of the month what the draw brings', async () => {
  const { scene, leases, holdAnswers } = openWithLateAnswers(noon + 58_990);
  await warmUp(scene, leases, both);
  const letGo = holdAnswers();
  for (const draws = scene.ledger.draws.length; scene.ledger.draws.length === draws;)
    await take(leases, both);
  await scene.clock.pass(20);
  const next = take(leases, both);
  await runReady();
  const counters = countersAt(plan, may);
  await scene.ledger.setUsage({ keyId: 'ada', counters, spent: 5000 });
  letGo();
  await next;
  await scene.clock.pass(3000);
  const { used, leased } = (await readMonth(scene))!;
  assert.ok(used > 5000, `${used} used, with a request after 5000 were set`);
  assert.equal(leased, 0);
});

test('no unit outlives its period for the part of a millisecond that the store does not show', async () => {
  const end = Date.UTC(2026, 4, 5, 12, 1);
  const { scene, leases } = openLeases({ start: end - 1005 });
  await scene.clock.pass(0.9);
  await warmUp(scene, leases, minute);
  await scene.clock.pass(4.3);
  const reservation = await take(leases, minute);
  assert.equal(reservation.counters[0]?.periodStart, end);
});

test('who comes in the last millisecond of a period waits for the next, however often a fast store could be asked till then', async () => {
  const end = Date.UTC(2026, 4, 5, 12, 1);
  const { scene, leases } = openLeases({ start: end - 1 });
  const reservation = take(leases, minute);
  await scene.clock.pass(10);
  assert.equal((await reservation).counters[0]?.periodStart, end);
});

for (const hours of [-3, 3]) {
  test(`a wall clock that jumps by ${hours} hours changes neither the period nor the count`, async () => {
    const { scene, leases, spent } = await openWarm({ start: Date.UTC(2026, 4, 31, 22, 30) });
    scene.clock.jump(hours * 3_600_000);
    const reservation = await take(leases);
    assert.equal(reservation.counters[0]?.periodStart, may);
    await scene.clock.pass(3000);
    assert.equal(scene.ledger.used('ada', 'month', may), spent + 1);
  });
}

test('after a sleep of the machine no unit of the ended period is spent', async () => {
  const { scene, leases } = await openWarm({ start: Date.UTC(2026, 4, 31, 22, 30) });
  scene.clock.jump(3 * 3_600_000);
  scene.jumpStore(3 * 3_600_000);
  const reservation = await take(leases);
  assert.equal(reservation.counters[0]?.periodStart, Date.UTC(2026, 5, 1));
});

for (const consistency of ['leased', 'strict'] as const) {
  test(`units that come back after a sleep of the machine are none of the next period (${consistency})`, async () => {
    const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12, 0, 30) });
    const minutely = aPlan({ quotas: [aQuota(3, 'minute')], consistency });
    const inFlight = [
      await take(leases, minutely),
      await take(leases, minutely),
      await take(leases, minutely),
    ];
    scene.clock.jump(60_000);
    scene.jumpStore(60_000);
    const order = { keyId: 'ada', plan: minutely, cost: 1 };
    const waiting = Array.from({ length: 6 }, async () => leases.reserve(order));
    for (const reservation of inFlight) leases.settle(reservation, 0);
    const answers = await Promise.all(waiting);
    await scene.clock.pass(20);
    for (let more = 0; more < 6; more += 1) answers.push(await leases.reserve(order));
    assert.equal(answers.filter(({ kind }) => kind === 'reservation').length, 3);
  });
}

test('a draw whose answer is read after a sleep of the machine is none of the next period', async () => {
  const scene = createLedgerScene(Date.UTC(2026, 4, 31, 22, 30));
  const first = Promise.withResolvers<void>();
  let draws = 0;
  const ledger = {
    ...scene.ledger,
    draw: async (order: DrawOrder) => {
      draws += 1;
      const answer = await scene.ledger.draw(order);
      if (draws === 1) await first.promise;
      return answer;
    },
  };
  const leases = new Leases({ ...scene.options, ledger });
  const before = take(leases);
  await runReady();
  scene.clock.jump(3 * 3_600_000);
  scene.jumpStore(3 * 3_600_000);
  const after = take(leases);
  first.resolve();
  for (const reservation of await Promise.all([before, after]))
    assert.equal(reservation.counters[0]?.periodStart, Date.UTC(2026, 5, 1));
});

test('a store whose clock is hours away decides the period', async () => {
  const scene = createLedgerScene(Date.UTC(2026, 4, 31, 22, 30));
  scene.jumpStore(3 * 3_600_000);
  const reservation = await take(new Leases(scene.options));
  assert.equal(reservation.counters[0]?.periodStart, Date.UTC(2026, 5, 1));
});

test('a store that never agrees on the period is asked eight times, and not for as long as it may take to answer', async () => {
  const scene = createLedgerScene();
  let draws = 0;
  const draw = async (): Promise<DrawAnswer> => {
    draws += 1;
    return { kind: 'not_current', now: scene.clock.wall() };
  };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, draw } });
  const refused = assert.rejects(take(leases), /never settled/);
  await scene.clock.pass(100);
  await refused;
  assert.equal(draws, 8);
});

test('clocks that drift apart slowly are no jump', async () => {
  const { scene, leases } = await openWarm();
  const before = scene.ledger.calls.get('giveBack') ?? 0;
  for (let turn = 0; turn < 100; turn += 1) {
    scene.clock.jump(20);
    await take(leases);
    await scene.clock.pass(10);
  }
  assert.equal(scene.ledger.calls.get('giveBack') ?? 0, before);
});

test("usage is that of the store's period, also before anything was drawn here", async () => {
  const scene = createLedgerScene();
  scene.jumpStore(48 * 3_600_000);
  await take(new Leases({ ...scene.options, holder: 'two' }), daily, 7);
  const [day] = await new Leases(scene.options).read('ada', daily);
  assert.equal(day?.used, 7);
});

test("usage after a sleep of the machine is that of the store's period, though nothing was drawn since", async () => {
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 22, 30) });
  await take(leases, daily, 7);
  scene.clock.jump(3 * 3_600_000);
  scene.jumpStore(3 * 3_600_000);
  for (let turn = 0; turn < 3; turn += 1) {
    const [day] = await leases.read('ada', daily);
    assert.deepEqual([day?.used, day?.resetsAt], [0, Date.UTC(2026, 4, 7)]);
  }
  assert.equal(scene.ledger.calls.get('readTime'), 1, 'the store is asked for its time once');
});

test('a time that the store told before the machine slept is not trusted for long', async () => {
  const scene = createLedgerScene(Date.UTC(2026, 4, 5, 22, 30));
  const arrives = Promise.withResolvers<void>();
  const readTime: typeof scene.ledger.readTime = async (keyId) => {
    const answer = await scene.ledger.readTime(keyId);
    await arrives.promise;
    return answer;
  };
  const leases = new Leases({ ...scene.options, ledger: { ...scene.ledger, readTime } });
  const early = leases.read('ada', daily);
  await scene.clock.pass(10);
  scene.clock.jump(3 * 3_600_000);
  scene.jumpStore(3 * 3_600_000);
  leases.time.tick();
  arrives.resolve();
  await early;
  assert.equal((await leases.read('ada', daily))[0]?.resetsAt, Date.UTC(2026, 4, 7));
});

test('units that are held of the minute before make the usage of this one no less', async () => {
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12, 0, 58, 800) });
  const other = new Leases({ ...scene.options, holder: 'two' });
  await warmUp(scene, leases, minute);
  await scene.clock.pass(210);
  await take(other, minute, 500);
  assert.equal((await leases.read('ada', minute))[0]?.used, 500);
});

test('a unit that comes back after its period is none of the next period', async () => {
  const { scene, leases } = openLeases({ start: noon + 59_900 });
  const three = aPlan({ quotas: [aQuota(3, 'minute')] });
  const slow = await take(leases, three);
  await scene.clock.pass(200);
  for (let count = 0; count < 3; count += 1) await take(leases, three);
  const denied = await leases.reserve({ keyId: 'ada', plan: three, cost: 1 });
  assert.equal(denied.kind, 'exhausted');
  leases.settle(slow, 0);
  const again = await leases.reserve({ keyId: 'ada', plan: three, cost: 1 });
  assert.equal(again.kind, 'exhausted', 'three are spent of three');
  await scene.clock.pass(10);
  assert.equal(scene.ledger.used('ada', 'minute', noon), 0);
});

test('a denial ends with its period, to the millisecond', async () => {
  const { scene, leases } = openLeases({ start: Date.UTC(2026, 4, 5, 12, 0, 59, 980) });
  const one = aPlan({ quotas: [aQuota(1, 'minute')] });
  await take(leases, one);
  const denied = await leases.reserve({ keyId: 'ada', plan: one, cost: 1 });
  assert.equal(denied.kind, 'exhausted');
  await scene.clock.pass(20);
  await take(leases, one);
});
