import { DatabaseSync } from 'node:sqlite';
import type { DrawOrder, Ledger, StepOrder, UnitsOrder } from '../../src/stores/ledger.ts';
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
  /** What a holder took from a counter and did not give back. */
  taken(holder: string, keyId: string, name: string, periodStart: number): number;
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
  const taken = new Map<string, number>();
  /** What each step has moved, by its id. */
  const moved = new Map<string, number>();
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

  function note({ id, holder, keyId, counters: moving }: StepOrder, units: number): void {
    const more = units - (moved.get(id) ?? 0);
    moved.set(id, units);
    for (const { name, periodStart } of moving) {
      const of = JSON.stringify([holder, keyId, name, periodStart]);
      taken.set(of, (taken.get(of) ?? 0) + more);
    }
  }

  function move(order: UnitsOrder, run: (order: UnitsOrder) => void, units: number): void {
    run(order);
    note(order, units);
  }

  return {
    calls,
    draws,
    counters,
    comeBack: () => hearers.forEach((hear) => hear()),
    onReturn: (hear) => void hearers.push(hear),
    used: (...of) =>
      counters().find((row) => String([row.keyId, row.name, row.periodStart]) === String(of))?.used ?? 0,
    taken: (...of) => taken.get(JSON.stringify(of)) ?? 0,
    draw: (order) => {
      draws.push(order);
      return step('draw', () => {
        const answer = store.draw(order);
        if (answer.kind === 'drawn') note(order, answer.units);
        return answer;
      });
    },
    giveBack: (order) => step('giveBack', () => move(order, store.giveBack, -order.units)),
    charge: (order) => step('charge', () => move(order, store.charge, order.units)),
    cancelDraw: (order) =>
      step('cancelDraw', () => {
        store.cancelDraw(order);
        note(order, 0);
      }),
    takeCells: (order) => step('takeCells', () => store.takeCells(order)),
    enter: (order) => step('enter', () => store.enter(order)),
    stay: (order) => step('stay', () => store.stay(order)),
    leave: (keyId, placeId) => step('leave', () => store.leave(keyId, placeId)),
    readTime: () => step('readTime', now),
    readUsage: (keyId, asked) => step('readUsage', () => store.readUsage(keyId, asked)),
    resetUsage: (keyId, meant) => step('resetUsage', () => store.resetUsage(keyId, meant)),
  };
}
