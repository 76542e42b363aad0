import assert from 'node:assert/strict';
import type { PlanRule } from '../../src/config/plan-rule.ts';
import { countersAt } from '../../src/quota/counters.ts';
import type { Reservation } from '../../src/quota/leases/lease.ts';
import { Leases, type LeasesOptions } from '../../src/quota/leases/leases.ts';
import type { Ledger, Usage } from '../../src/stores/ledger.ts';
import { aPlan, aQuota } from './a-plan.ts';
import { createLedgerScene } from './ledger-scene.ts';

/** The month in which the scene's clock starts, and a plan that counts over it. */
export const may = Date.UTC(2026, 4, 1);
export const plan = aPlan({ quotas: [aQuota(100_000)] });

interface LeaseOptions extends Partial<LeasesOptions> {
  /** What the clocks of the scene show at first. */
  readonly start?: number;
}

/** The leases of one process in a scene of their own. */
export function openLeases({ start, ...options }: LeaseOptions = {}) {
  const scene = createLedgerScene(start);
  return { scene, leases: new Leases({ ...scene.options, ...options }) };
}

/** The same, once the process draws ahead, and what it has spent until then. */
export async function openWarm(options?: LeaseOptions) {
  const { scene, leases } = openLeases(options);
  return { scene, leases, spent: await warmUp(scene, leases) };
}

/** The leases of one process, and how to hold back the answers to draws that the store takes meanwhile. Returns how to let them go. */
export function openWithLateAnswers(start?: number) {
  const scene = createLedgerScene(start);
  let answered: Promise<void> | undefined;
  const draw: Ledger['draw'] = async (order) => {
    const answer = await scene.ledger.draw(order);
    await answered;
    return answer;
  };
  const holdAnswers = (): (() => void) => {
    const gate = Promise.withResolvers<void>();
    answered = gate.promise;
    return gate.resolve;
  };
  return { scene, leases: new Leases({ ...scene.options, ledger: { ...scene.ledger, draw } }), holdAnswers };
}

/** Reserves for the key of the scene, and fails unless that is granted. */
export async function take(leases: Leases, rule: PlanRule = plan, cost = 1): Promise<Reservation> {
  const answer = await leases.reserve({ keyId: 'ada', plan: rule, cost });
  assert.ok(answer.kind === 'reservation');
  return answer;
}

/** Spends at a steady pace until the process draws ahead. */
export async function warmUp(
  scene: ReturnType<typeof createLedgerScene>,
  leases: Leases,
  rule = plan,
): Promise<number> {
  let spent = 0;
  for (let turn = 0; turn < 100; turn += 1) {
    await take(leases, rule);
    spent += 1;
    await scene.clock.pass(10);
  }
  return spent;
}

/** What the store says of the key's month. */
export async function readMonth({
  ledger,
}: ReturnType<typeof createLedgerScene>): Promise<Usage | undefined> {
  return (await ledger.readUsage('ada', countersAt(plan, may)))[0];
}
