import { randomUUID } from 'node:crypto';
import type { Counter, DrawOrder, Ledger, StepOrder, UnitsOrder } from '../../src/stores/ledger.ts';

export const HOUR = 3_600_000;

/** A counter whose period began in the hour before and goes on for some hours. */
export function aCounter(change: Partial<Counter>): Counter {
  const now = Date.now();
  const periodStart = now - (now % HOUR) - HOUR;
  return { name: 'monthly', limit: 10, periodStart, periodEnd: periodStart + 5 * HOUR, ...change };
}

let ids = 0;

/** The id of a step, of which all before it are known. */
export function nextId(): Pick<StepOrder, 'id' | 'openFrom'> {
  ids += 1;
  return { id: `${randomUUID()}.${ids}`, openFrom: ids };
}

/** A draw of one unit, with an id of its own. */
export function aDraw(change: Partial<DrawOrder> & Pick<DrawOrder, 'counters'>): DrawOrder {
  const want = change.want ?? 1;
  return { ...nextId(), keyId: 'key', need: Math.min(1, want), want, holder: 'a', held: 0, ...change };
}

type UnitsChange = Partial<Omit<UnitsOrder, 'held'>> & Pick<UnitsOrder, 'counters'>;

/** One unit to give back or to charge, with an id of its own. What is held then is the same of each counter. */
export function someUnits({ held = 0, ...change }: UnitsChange & { readonly held?: number }): UnitsOrder {
  const heldOfEach = change.counters.map(() => held);
  return { ...nextId(), keyId: 'key', units: 1, holder: 'a', held: heldOfEach, ...change };
}

/** The usage of some counters, as one line. */
export async function usedOf(ledger: Ledger, counters: readonly Counter[], keyId = 'key'): Promise<string> {
  return (await ledger.readUsage(keyId, counters)).map((usage) => usage.used).join(' ');
}
