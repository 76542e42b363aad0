import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Consistency } from '../../../../src/config/plan-rule.ts';
import type { Reservation } from '../../../../src/quota/leases/lease.ts';
import { Leases } from '../../../../src/quota/leases/leases.ts';
import type { DrawOrder, Ledger } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable, unavailable } from '../../../../src/stores/store-unavailable.ts';
import { aPlan, aQuota } from '../../../helpers/a-plan.ts';
import { createForgetfulLedger } from '../../../helpers/forgetful-ledger.ts';
import { createRandom } from '../../../helpers/random.ts';
import { runWorlds } from '../../../helpers/run-worlds.ts';
import { createTurnableClock } from '../../../helpers/turnable-clock.ts';

/*
 * A process and a store of three parts, each with a weather of its own, which forgets steps as soon as it may. When all parts are
 * back and everything is at rest, the store has counted what was spent, to the unit. The seed of a failing run is in its message;
 * QUOTA_MODEL_SEED repeats that run alone, and QUOTA_MODEL_RUNS makes more of them. When Redis forgot steps by their age, every third run
 * counted too much.
 */
/** As in health.ts. */
const failuresMax = 5;
const coolMs = 200;

/**
 * `away`: calls are refused. `deaf`: they are lost; `silent`: their answers are; `flaky`: some of both. `late`: both take long, often
 * too long. `stalling`: some calls arrive up to a minute later. `choosy`: many are answered with a refusal.
 */
const weathers = [
  'well',
  'away',
  'deaf',
  'silent',
  'silent',
  'late',
  'late',
  'flaky',
  'stalling',
  'choosy',
] as const;

interface Part {
  weather: (typeof weathers)[number];
  failures: number;
  triedAt: number;
}

for (const consistency of ['leased', 'strict'] as const) {
  test(`when all parts of a store are back, what was spent is counted once, ${consistency}`, async () => {
    await runWorlds({ name: 'QUOTA_MODEL', runs: 2, create: (seed) => createWorld(seed, consistency) });
  });
}

function createWorld(seed: number, consistency: Consistency) {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const clock = createTurnableClock();
  const deadlineMs = pick([250, 20_000]);
  const store = createForgetfulLedger(() => clock.wall());
  const parts: Part[] = Array.from({ length: 3 }, () => ({ weather: 'well', failures: 0, triedAt: 0 }));
  const keys = Array.from({ length: pick([1, 3, 6]) }, (_, nth) => `k${nth}`);
  const problems: unknown[] = [];
  const story: string[] = [];
  const held: Reservation[] = [];
  const spent = new Map<string, number>();

  /** Calls the part of the store that has the key, over a wire with a breaker. */
  const send = <T>(keyId: string, call: () => T): Promise<T> => {
    const part = parts[keys.indexOf(keyId) % parts.length]!;
    const { weather } = part;
    if (part.failures >= failuresMax && clock.mono() - part.triedAt < coolMs)
      return Promise.reject(unavailable('not asked'));
    part.triedAt = clock.mono();
    if (weather === 'away') {
      part.failures += 1;
      return Promise.reject(unavailable('away'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const tooLate = new StoreUnavailable('too late', { mayHaveHappened: true });
    let isOver = false;
    const stop = clock.after(deadlineMs, () => {
      isOver = true;
      part.failures += 1;
      part.triedAt = clock.mono();
      reject(tooLate);
    });
    const isLost = (): boolean => weather === 'flaky' && below(3) === 0;
    const delayMs = (): number => (weather === 'late' ? below(1.6 * deadlineMs) : 1 + below(3));
    if (weather === 'deaf' || isLost()) return promise;
    const stalls = weather === 'stalling' && below(3) === 0;
    const isRefused = weather === 'choosy' && below(2) === 0;
    clock.after(stalls ? below(60_000) : delayMs(), () => {
      const answer = isRefused ? Promise.reject(unavailable('refused')) : Promise.try(call);
      answer.catch(() => undefined);
      if (weather === 'silent' || isLost()) return;
      clock.after(delayMs(), () => {
        if (isOver) return;
        stop();
        part.failures = 0;
        resolve(answer);
      });
    });
    return promise;
  };

  const draws: DrawOrder[] = [];
  const ledger: Partial<Ledger> = {
    draw: (order) => {
      draws.push(order);
      return send(order.keyId, () => store.draw(order));
    },
    giveBack: (order) => send(order.keyId, () => store.giveBack(order)),
    charge: (order) => send(order.keyId, () => store.charge(order)),
    cancelDraw: (order) => send(order.keyId, () => store.cancelDraw(order)),
  };
  const leases = new Leases({
    ledger: ledger as Ledger,
    clock,
    holder: 'one',
    deadlineMs,
    onError: (error) => void problems.push(error),
  });
  const quotas = [aQuota(Number.MAX_SAFE_INTEGER, 'lifetime')];
  const onStoreFailure = pick(['refuse', 'allow'] as const);
  const createPlan = () => aPlan({ quotas, consistency, onStoreFailure });
  let plan = createPlan();

  const reserve = async (): Promise<void> => {
    try {
      const answer = await leases.reserve({ keyId: pick(keys), plan, cost: 1 + below(3) });
      assert.ok(answer.kind === 'reservation');
      held.push(answer);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) problems.push(error);
    }
  };

  const settle = (): void => {
    const [reservation] = held.splice(below(held.length), 1);
    if (reservation === undefined) return;
    const { units, lease } = reservation;
    const cost = pick([0, units, units + 1 + below(5)]);
    spent.set(lease.keyId, (spent.get(lease.keyId) ?? 0) + cost);
    leases.settle(reservation, cost);
  };

  const serve = async (): Promise<void> => {
    for (let more = below(below(4) === 0 ? 200 : 10); more > 0; more -= 1) void reserve();
    await clock.pass(below(300));
    for (let more = below(12); more > 0; more -= 1) settle();
  };

  const change = (): void => {
    const part = pick(parts);
    part.weather = pick(weathers);
    story.push(`${clock.mono()} part ${parts.indexOf(part)} ${part.weather}`);
  };

  const rest = async (): Promise<void> => {
    for (const part of parts) part.weather = 'well';
    await clock.pass(1000 + 2 * deadlineMs);
    while (held.length > 0) settle();
    // What stalls has arrived by then.
    await clock.pass(70_000);
    assert.deepEqual(leases.counts, { leases: 0, owingKeys: 0, waitingSteps: 0, droppedSteps: 0 });
    assert.deepEqual(problems, []);
    const counted = keys.map((keyId) => `${keyId} ${store.used(keyId)}`);
    assert.deepEqual(
      counted,
      keys.map((keyId) => `${keyId} ${spent.get(keyId) ?? 0}`),
    );
  };

  const checkOpenSteps = async (): Promise<void> => {
    for (const keyId of keys) {
      void leases.reserve({ keyId, plan, cost: 1 });
      await clock.pass(20);
      const { id, openFrom } = draws.at(-1)!;
      assert.equal(id.split('.')[1], String(openFrom), 'the store may forget all that was before');
    }
  };

  return {
    story,
    async run(): Promise<void> {
      for (let turns = 0; turns < 30; turns += 1) {
        if (below(3) === 0) change();
        if (below(10) === 0) plan = createPlan();
        if (below(10) === 0) clock.jump(below(7_200_000) - 3_600_000);
        for (let more = below(8); more > 0; more -= 1) await serve();
        if (below(6) === 0) await clock.pass(below(15_000));
      }
      await rest();
      await checkOpenSteps();
    },
  };
}
