import { DatabaseSync } from 'node:sqlite';
import type { DrawOrder, Ledger } from '../../src/stores/ledger.ts';
import { prepareUnits } from '../../src/stores/sqlite/ledger.ts';
import { migrations } from '../../src/stores/sqlite/migrations.ts';
import { preparePlaces } from '../../src/stores/sqlite/places.ts';
import { prepareRates } from '../../src/stores/sqlite/rates.ts';

export interface MemoryLedgerOptions {
  /** The store's clock. */
  readonly now: () => number;
  /** Runs before a step: may wait, or throw to have the step refused unseen. */
  readonly before?: (step: string) => Promise<void> | void;
  /** Runs after a step: may wait, or throw to have its answer lost. */
  readonly after?: (step: string) => Promise<void> | void;
}

interface CounterRow {
  readonly keyId: string;
  readonly name: string;
  readonly periodStart: number;
  readonly used: number;
}

export interface MemoryLedger extends Ledger {
  /** As if it had been connected to again. */
  readonly comeBack: () => void;
  readonly calls: Map<string, number>;
  readonly draws: DrawOrder[];
  used(keyId: string, name: string, periodStart: number): number;
  /** Every counter that is kept. */
  counters(): CounterRow[];
}

/** The ledger of SQLite, in memory and by a clock of the test's own. */
export function createMemoryLedger({ now, before, after }: MemoryLedgerOptions): MemoryLedger {
  const database = new DatabaseSync(':memory:');
  for (const migration of migrations) database.exec(migration);
  const store = {
    ...prepareUnits(database, now),
    ...prepareRates(database, now),
    ...preparePlaces(database, now),
  };
  const rows = database.prepare('SELECT key AS keyId, name, period_start AS periodStart, used FROM counters');
  const counters = () => rows.all() as unknown as CounterRow[];
  const calls = new Map<string, number>();
  const draws: DrawOrder[] = [];
  const hearers: (() => void)[] = [];

  async function step<T>(name: string, run: () => T): Promise<T> {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    await before?.(name);
    const answer = run();
    await after?.(name);
    return answer;
  }

  return {
    calls,
    draws,
    counters,
    comeBack: () => hearers.forEach((hear) => hear()),
    onReturn: (hear) => void hearers.push(hear),
    used: (...of) =>
      counters().find((row) => String([row.keyId, row.name, row.periodStart]) === String(of))?.used ?? 0,
    draw: (order) => {
      draws.push(order);
      return step('draw', () => store.draw(order));
    },
    giveBack: (order) => step('giveBack', () => store.giveBack(order)),
    charge: (order) => step('charge', () => store.charge(order)),
    cancelDraw: (order) => step('cancelDraw', () => store.cancelDraw(order)),
    takeCells: (order) => step('takeCells', () => store.takeCells(order)),
    enter: (order) => step('enter', () => store.enter(order)),
    stay: (order) => step('stay', () => store.stay(order)),
    leave: (keyId, placeId) => step('leave', () => store.leave(keyId, placeId)),
    readTime: () => step('readTime', now),
    readUsage: (keyId, asked) => step('readUsage', () => store.readUsage(keyId, asked)),
    setUsage: (order) => step('setUsage', () => store.setUsage(order)),
  };
}
