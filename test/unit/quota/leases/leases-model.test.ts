import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Consistency, PlanRule } from '../../../../src/config/plan-rule.ts';
import { countersAt } from '../../../../src/quota/counters.ts';
import type { Reservation } from '../../../../src/quota/leases/lease.ts';
import { Leases } from '../../../../src/quota/leases/leases.ts';
import { readUsage, type UsageReading } from '../../../../src/quota/usage-reading.ts';
import type { Ledger, Usage } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable } from '../../../../src/stores/store-unavailable.ts';
import type { Clock } from '../../../../src/waiting/clock.ts';
import { aClient } from '../../../helpers/a-client.ts';
import { aPlan, aQuota } from '../../../helpers/a-plan.ts';
import { createMemoryLedger, type MemoryLedger } from '../../../helpers/memory-ledger.ts';
import { createRandom } from '../../../helpers/random.ts';
import { runWorlds } from '../../../helpers/run-worlds.ts';
import { settle as runReady } from '../../../helpers/turnable-clock.ts';

/*
 * Several processes over one ledger, with their own clocks, through random interleavings of everything that can
 * happen. The seed of a failing run is in its message; QUOTA_MODEL_SEED repeats that run alone, and
 * QUOTA_MODEL_RUNS makes more of them. In runs with an even seed no process crashes, so every unit must come back. In every third
 * somebody sets usage now and then; in every fourth the plan lets requests through while the store is away, and nobody does.
 */
const steps = 120;
const keys = ['ada', 'bob'];
const deadlineMs = 250;
/** Within this time the store is told what is held. */
const toldWithinMs = 1500;

type Weather = 'healthy' | 'refusing' | 'losing' | 'slow';

interface Worker {
  readonly name: string;
  readonly leases: Leases;
  alive: boolean;
  skewMs: number;
}

interface Held {
  readonly worker: Worker;
  readonly reservation: Reservation;
}

for (const consistency of ['leased', 'strict'] as const) {
  test(`no interleaving overspends a quota or wastes it, ${consistency}`, async () => {
    await runWorlds({ name: 'QUOTA_MODEL', runs: 25, create: (seed) => createWorld(seed, consistency) });
  });
}

const twins = new WeakMap<PlanRule, PlanRule>();

/** Another plan with the same quotas, as a key in the file and one in the store may have that share an id. */
function twinOf(plan: PlanRule): PlanRule {
  const twin = twins.get(plan) ?? { ...plan };
  twins.set(plan, twin);
  return twin;
}

function createWorld(seed: number, consistency: Consistency) {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const story: string[] = [];
  let now = Date.UTC(2026, 0, 31, 23, 59, 30) + below(20_000);
  let weather: Weather = 'healthy';
  const scale = [1, 1, 10, 40][below(4)]!;
  const onStoreFailure = seed % 4 === 3 ? 'allow' : 'refuse';
  const createPlan = (perMinute: number, perMonth: number): PlanRule =>
    aPlan({ quotas: [aQuota(perMinute, 'minute'), aQuota(perMonth, 'month')], consistency, onStoreFailure });
  let plan = createPlan(24 * scale, 90 * scale);
  let timers: { at: number; run: () => void }[] = [];
  let workers: Worker[] = [];
  let born = 0;
  let crashed = false;
  const held: Held[] = [];
  const spent = new Map<string, number>();
  /** What counts whatever the limit says: what requests cost beyond their reservation, and what was spent without the store's word. */
  const beyond = new Map<string, number>();
  const limits = new Map<string, number>();
  /** What of a counter may have been spent before it was set, and was not told yet. */
  const untold = new Map<string, number>();
  /** What may come off a counter that was set: the cost of requests that were not charged just before. */
  const comesOff = new Map<string, number>();
  const uncharged: { readonly keyId: string; readonly units: number; readonly at: number }[] = [];
  let isSetting = false;
  const problems: unknown[] = [];
  const later = (delayMs: number, run: () => void): void => {
    timers.push({ at: now + delayMs, run });
  };
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => later(ms, resolve));

  const ledger = createMemoryLedger({
    now: () => now,
    before: async () => {
      if (isSetting) return;
      if (weather === 'refusing' && below(4) > 0)
        throw new StoreUnavailable('refused', { mayHaveHappened: false });
      const slow = weather === 'slow' && below(2) === 0;
      await sleep(slow ? below(2 * deadlineMs) : below(4));
    },
    after: async () => {
      if (isSetting) return;
      const lost = weather === 'losing' && below(2) === 0;
      await sleep(below(4));
      if (lost) throw new StoreUnavailable('lost', { mayHaveHappened: true });
    },
  });

  const startWorker = (): void => {
    born += 1;
    const origin = below(1_000_000) + random();
    const birth = now;
    const worker: Worker = {
      name: `w${born}`,
      alive: true,
      skewMs: below(7_200_000) - 3_600_000,
      leases: undefined!,
    };
    const clock: Clock = {
      wall: () => now + worker.skewMs,
      mono: () => origin + now - birth,
      after(delayMs, run) {
        later(Math.ceil(delayMs), () => {
          if (worker.alive) run();
        });
        return () => undefined;
      },
      whenAllIsRead: (callback) => callback(),
    };
    Object.assign(worker, {
      leases: new Leases({
        ledger: overWire(ledger, worker, later),
        clock,
        holder: worker.name,
        deadlineMs,
        onError: (error) => problems.push(error),
      }),
    });
    workers.push(worker);
  };

  const pass = async (ms: number): Promise<void> => {
    const end = now + ms;
    for (;;) {
      await runReady();
      const due = timers.filter(({ at }) => at <= end);
      if (due.length === 0) break;
      const at = Math.min(...due.map((timer) => timer.at));
      now = Math.max(now, at);
      timers = timers.filter((timer) => timer.at > at);
      for (const timer of due) if (timer.at <= at) timer.run();
    }
    now = end;
    await runReady();
  };

  const noteLimits = (): void => {
    for (const quota of plan.quotas) {
      limits.set(quota.name, Math.max(quota.limit, limits.get(quota.name) ?? 0));
    }
  };

  /** What was spent, and what requests hold, was drawn before; and nobody draws more than there is. */
  const check = (): void => {
    assert.deepEqual(problems, []);
    const inHand = new Map<string, number>();
    for (const { worker, reservation } of held) {
      if (!worker.alive || reservation.owed) continue;
      for (const { name, periodStart } of reservation.counters) {
        const id = counterId(reservation.lease.keyId, name, periodStart);
        inHand.set(id, (inHand.get(id) ?? 0) + reservation.units);
      }
    }
    for (const { keyId, name, periodStart, used } of ledger.counters()) {
      const id = counterId(keyId, name, periodStart);
      const gone = (spent.get(id) ?? 0) + (inHand.get(id) ?? 0);
      const drawn = used + (comesOff.get(id) ?? 0);
      assert.ok(gone <= drawn, `${id}: ${gone} spent or in hand of ${drawn} drawn`);
      const most = limits.get(name)! + (beyond.get(id) ?? 0);
      assert.ok(used <= most, `${id}: ${used} drawn of ${most}`);
    }
  };

  const reserve = (worker: Worker, keyId: string, cost: number, client = aClient()): Promise<string> => {
    const asked = now;
    const answer = worker.leases.reserve({
      keyId,
      plan: below(20) === 0 ? twinOf(plan) : plan,
      cost,
      whenLeft: client.whenLeft,
    });
    const note = (result: Awaited<typeof answer>): string => {
      if (!worker.alive) return result.kind;
      if (result.kind === 'reservation' && result.owed) {
        held.push({ worker, reservation: result });
        return 'owed';
      }
      assert.ok(now - asked <= deadlineMs, 'no request waits longer than the deadline');
      if (result.kind === 'exhausted') return result.kind;
      for (const { name, periodStart, periodEnd } of result.counters) {
        assert.ok(periodStart <= now && now < periodEnd, `${name} of an ended period granted at ${now}`);
      }
      held.push({ worker, reservation: result });
      return 'reservation';
    };
    if (!(answer instanceof Promise)) return Promise.resolve(note(answer));
    return answer.then(note).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return 'unavailable';
      if (client.hasLeft) return 'left';
      problems.push(error);
      return 'problem';
    });
  };

  const spend = ({ worker, reservation }: Held, units: number): void => {
    if (!worker.alive) return;
    for (const { name, periodStart } of reservation.counters) {
      const id = counterId(reservation.lease.keyId, name, periodStart);
      const reserved = reservation.owed ? 0 : Math.min(units, reservation.units);
      spent.set(id, (spent.get(id) ?? 0) + reserved);
      beyond.set(id, (beyond.get(id) ?? 0) + units - reserved);
    }
    const notCharged = Math.max(0, reservation.units - units);
    uncharged.push({ keyId: reservation.lease.keyId, units: notCharged, at: now });
    worker.leases.settle(reservation, units);
  };

  const settle = (index: number): void => {
    const [taken] = held.splice(index, 1);
    if (taken === undefined) return;
    const { units } = taken.reservation;
    const costs = [0, 0, 0, below(units + 1), units + below(5), units, units, units, units];
    spend(taken, costs[below(costs.length)]!);
  };

  const settleAll = (): void => {
    while (held.length > 0) settle(0);
  };

  const crash = (worker: Worker): void => {
    worker.alive = false;
    crashed = true;
    workers = workers.filter((other) => other !== worker);
    startWorker();
  };

  const replace = async (worker: Worker): Promise<void> => {
    workers = workers.filter((other) => other !== worker);
    const drained = worker.leases.drain();
    startWorker();
    await Promise.race([drained, pass(2000)]);
  };

  const editLimits = (): void => {
    plan = createPlan(scale * (10 + below(30)), scale * (40 + below(80)));
    noteLimits();
  };

  /** What processes hold, whatever they have told of it. */
  const heldOf = async (keyId: string, name: string): Promise<number> => {
    const usedOf = (readings: readonly UsageReading[]) =>
      readings.find((one) => one.name === name)?.used ?? 0;
    const used = usedOf(await readUsage(ledger, keyId, countersAt(plan, now)));
    const others = await Promise.all(workers.map(({ leases }) => leases.read(keyId, plan)));
    return others.reduce((sum, readings) => sum + used - usedOf(readings), 0);
  };

  /** In fair weather, when no request of the key is under way: then what is spent from now on is counted. */
  const setUsage = async (): Promise<void> => {
    weather = 'healthy';
    settleAll();
    // Also a call that began in bad weather is over then.
    await pass(2 * deadlineMs + 10);
    settleAll();
    if (workers.some(({ leases }) => leases.counts.waitingSteps > 0)) return;
    const [keyId, counter] = [keys[below(2)]!, countersAt(plan, now)[below(2)]!];
    const units = below(counter.limit);
    isSetting = true;
    const ahead = await heldOf(keyId, counter.name);
    const usage = await ledger.setUsage({ keyId, counters: [counter], spent: units });
    isSetting = false;
    assert.ok(usage !== 'not_current');
    const [{ used, leased }] = usage as [Usage];
    const id = counterId(keyId, counter.name, counter.periodStart);
    spent.set(id, units);
    beyond.set(id, 0);
    untold.set(id, leased);
    const lately = uncharged.filter((one) => one.keyId === keyId && one.at > now - toldWithinMs);
    const notCharged = lately.reduce((sum, one) => sum + one.units, 0);
    // A step that overtakes a draw has told of less than that brings.
    comesOff.set(id, Math.max(0, ahead - leased) + notCharged);
    limits.set(counter.name, Math.max(used, limits.get(counter.name)!));
  };

  const any = (): Worker => workers[below(workers.length)]!;
  const actions: readonly [number, string, () => Promise<void> | void][] = [
    [40, 'reserve', () => void reserve(any(), keys[below(2)]!, 1 + below(below(4) === 0 ? 4 : 1))],
    [
      3,
      'reserve and leave',
      async () => {
        const client = aClient();
        const [keyId, units] = [keys[below(2)]!, 1 + below(3)];
        void reserve(any(), keyId, units, client);
        await pass(below(5));
        client.leave('gone');
        uncharged.push({ keyId, units, at: now });
      },
    ],
    [
      6,
      'burst',
      () => {
        const worker = any();
        for (let count = below(12 * scale); count > 0; count -= 1) void reserve(worker, keys[0]!, 1);
      },
    ],
    [35, 'settle', () => settle(below(held.length + 1))],
    [4, 'settle all', () => settleAll()],
    [25, 'a moment', () => pass(below(8))],
    [8, 'a while', () => pass(below(700))],
    [2, 'to the end of the minute', () => pass(60_000 - (now % 60_000) - 5 + below(8))],
    [seed % 2, 'crash', () => crash(any())],
    [seed % 3 === 0 && onStoreFailure === 'refuse' ? 12 : 0, 'usage set', setUsage],
    [1, 'drain', () => replace(any())],
    [1, 'wall clock jumps', () => void (any().skewMs += below(14_400_000) - 7_200_000)],
    [1, 'limits edited', editLimits],
    [1, 'a rest', () => pass(1500)],
    [3, 'weather', () => void (weather = (['healthy', 'refusing', 'losing', 'slow'] as const)[below(4)]!)],
    [2, 'clears up', () => void (weather = 'healthy')],
  ];
  const weights = actions.reduce((sum, [weight]) => sum + weight, 0);

  const act = async (): Promise<void> => {
    let pick = below(weights);
    const [, name, run] = actions.find(([weight]) => (pick -= weight) < 0)!;
    story.push(`${now} ${name} (${weather})`);
    await run();
    check();
  };

  /** When all is well and at rest, the ledger has what was spent, unless a process has crashed. */
  const rest = async (): Promise<void> => {
    weather = 'healthy';
    await pass(1000);
    settleAll();
    await pass(5000);
    check();
    for (const { leases } of workers) {
      assert.equal(
        leases.counts.leases + leases.counts.waitingSteps + leases.counts.owingKeys,
        0,
        'nothing is kept',
      );
    }
    for (const { keyId, name, periodStart, used } of ledger.counters()) {
      const id = counterId(keyId, name, periodStart);
      const drawn = spent.get(id) ?? 0;
      const counted = drawn + (beyond.get(id) ?? 0);
      const most = crashed ? Infinity : counted + (untold.get(id) ?? 0);
      // What is owed of earlier minutes than the last two is lost (owed.ts).
      const mayLose = crashed || (onStoreFailure === 'allow' && name === 'minute');
      const least = (mayLose ? drawn : counted) - (comesOff.get(id) ?? 0);
      assert.ok(used >= least && used <= most, `${id}: ${used} of ${least} to ${most} at rest`);
    }
  };

  /** Every unit that is left can still be spent, by whichever process. */
  const spendTheRest = async (): Promise<void> => {
    await pass(60_000 - (now % 60_000));
    let refusals = 0;
    for (let turn = 0; refusals < workers.length * 2; turn += 1) {
      const answers: string[] = [];
      void reserve(workers[turn % workers.length]!, 'ada', 1).then((found) => answers.push(found));
      while (answers.length === 0) await pass(12);
      const [result] = answers;
      assert.notEqual(result, 'unavailable');
      if (result === 'reservation') {
        spend(held.pop()!, 1);
        refusals = 0;
      } else {
        refusals += 1;
        await pass(400);
      }
    }
    check();
    const full = plan.quotas.some(
      (quota) =>
        quota.limit <=
        Math.max(...ledger.counters().map((row) => (isNow(row, quota.name, now) ? row.used : 0))),
    );
    assert.ok(full, 'a key is refused only when a quota is used up');
  };

  return {
    story,
    async run(): Promise<void> {
      noteLimits();
      for (let count = 0; count < 3; count += 1) startWorker();
      for (let step = 0; step < steps; step += 1) await act();
      await rest();
      await spendTheRest();
      await rest();
    },
  };
}

function counterId(keyId: string, name: string, start: number): string {
  return `${keyId}/${name}/${start}`;
}

function isNow(
  row: { keyId: string; name: string; periodStart: number },
  name: string,
  now: number,
): boolean {
  const start = name === 'minute' ? now - (now % 60_000) : Date.UTC(2026, new Date(now).getUTCMonth(), 1);
  return row.keyId === 'ada' && row.name === name && row.periodStart === start;
}

/** What a process reaches of the ledger: within the deadline or not at all, and not after its death. */
function overWire(
  ledger: MemoryLedger,
  worker: Worker,
  later: (ms: number, run: () => void) => void,
): Ledger {
  const send = <T>(call: () => Promise<T>): Promise<T> => {
    if (!worker.alive) return new Promise(() => undefined);
    return new Promise((resolve, reject) => {
      later(deadlineMs, () => reject(new StoreUnavailable('too late', { mayHaveHappened: true })));
      call().then(
        (answer) => worker.alive && resolve(answer),
        (error: unknown) => worker.alive && reject(error as Error),
      );
    });
  };
  return {
    ...ledger,
    draw: (order) => send(() => ledger.draw(order)),
    giveBack: (order) => send(() => ledger.giveBack(order)),
    charge: (order) => send(() => ledger.charge(order)),
    cancelDraw: (order) => send(() => ledger.cancelDraw(order)),
  };
}
