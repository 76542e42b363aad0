import type {
  StepOrder,
  Counter,
  DrawAnswer,
  DrawOrder,
  Ledger,
  CellsAnswer,
  CellsOrder,
  EntryOrder,
  PlaceAnswer,
  UnitsOrder,
  Usage,
} from '../../src/stores/ledger.ts';

export interface MemoryLedgerOptions {
  /** The store's clock. */
  readonly now: () => number;
  /** Runs before a step: may wait, or throw to have the step refused unseen. */
  readonly before?: (step: string) => Promise<void> | void;
  /** Runs after a step: may wait, or throw to have its answer lost. */
  readonly after?: (step: string) => Promise<void> | void;
}

export interface MemoryLedger extends Ledger {
  /** As if it had been connected to again. */
  readonly comeBack: () => void;
  readonly calls: Map<string, number>;
  readonly draws: DrawOrder[];
  used(keyId: string, name: string, periodStart: number): number;
  /** What a holder took from a counter and did not give back. */
  taken(holder: string, keyId: string, name: string, periodStart: number): number;
  /** Every counter that was ever touched. */
  counters(): { keyId: string; name: string; periodStart: number; used: number }[];
}

/** A ledger in memory that keeps every rule of the contract. */
export function createMemoryLedger(options: MemoryLedgerOptions): MemoryLedger {
  const { now } = options;
  const usage = new Map<string, { keyId: string; name: string; periodStart: number; used: number }>();
  const answers = new Map<string, DrawAnswer>();
  const undone = new Set<string>();
  const steps = new Set<string>();
  const taken = new Map<string, number>();
  const held = new Map<string, Map<string, number>>();
  const arrivals = new Map<string, number>();
  const places = new Map<string, Map<string, number>>();
  const calls = new Map<string, number>();
  const draws: DrawOrder[] = [];
  const hearers: (() => void)[] = [];

  const row = (keyId: string, { name, periodStart }: Pick<Counter, 'name' | 'periodStart'>) => {
    const id = JSON.stringify([keyId, name, periodStart]);
    return usage.getOrInsert(id, { keyId, name, periodStart, used: 0 });
  };
  const add = (order: Pick<UnitsOrder, 'keyId' | 'holder' | 'counters'>, units: number): void => {
    for (const counter of order.counters) {
      const found = row(order.keyId, counter);
      found.used = Math.max(0, found.used + units);
      const id = JSON.stringify([order.holder, order.keyId, counter.name, counter.periodStart]);
      taken.set(id, (taken.get(id) ?? 0) + units);
    }
  };
  const tell = (keyId: string, holder: string, units: number): void => {
    held.getOrInsert(keyId, new Map()).set(holder, units);
  };
  const usedOf = (order: DrawOrder): number[] =>
    order.counters.map((counter) => row(order.keyId, counter).used);

  const step = async <T>(name: string, run: () => T): Promise<T> => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    await options.before?.(name);
    const answer = run();
    await options.after?.(name);
    return answer;
  };

  const decide = (order: DrawOrder): DrawAnswer => {
    const { keyId, counters } = order;
    if (counters.some(({ periodStart, periodEnd }) => now() < periodStart || now() >= periodEnd)) {
      return { kind: 'not_current', now: now() };
    }
    const left = counters.map((counter) => counter.limit - row(keyId, counter).used);
    if (left.some((units) => units < order.need))
      return { kind: 'exhausted', used: usedOf(order), now: now() };
    const units = Math.min(order.want, ...left);
    add(order, units);
    tell(keyId, order.holder, Math.max(0, order.held + units));
    return { kind: 'drawn', units, used: usedOf(order), now: now() };
  };

  const runDraw = (order: DrawOrder): DrawAnswer => {
    if (undone.has(order.id)) return { kind: 'exhausted', used: usedOf(order), now: now() };
    const answer = answers.get(order.id) ?? decide(order);
    answers.set(order.id, answer);
    return answer;
  };

  const runCancel = (order: StepOrder): void => {
    if (undone.has(order.id)) return;
    undone.add(order.id);
    const answer = answers.get(order.id);
    if (answer?.kind === 'drawn') add(order, -answer.units);
  };

  const runUnits = (order: UnitsOrder, units: number): void => {
    if (steps.has(order.id)) return;
    steps.add(order.id);
    add(order, units);
    tell(order.keyId, order.holder, order.held);
  };

  const runCells = (order: CellsOrder): CellsAnswer => {
    const id = JSON.stringify([order.keyId, order.name]);
    const arrival = Math.max(arrivals.get(id) ?? 0, now());
    const room = order.intervalMs * order.burst - (arrival - now());
    const free = Math.floor(room / order.intervalMs + 1e-9);
    if (free < 1) return { kind: 'too_fast', retryInMs: Math.ceil(order.intervalMs - room), now: now() };
    const cells = Math.min(order.want, free);
    arrivals.set(id, arrival + cells * order.intervalMs);
    return { kind: 'taken', cells, remaining: free - cells, now: now() };
  };

  const placesOf = (keyId: string): Map<string, number> => {
    const full = places.getOrInsert(keyId, new Map());
    for (const [id, until] of full) if (until <= now()) full.delete(id);
    return full;
  };

  const runEnter = (order: EntryOrder): PlaceAnswer => {
    const full = placesOf(order.keyId);
    if (!full.has(order.placeId) && full.size >= order.limit) return 'full';
    full.set(order.placeId, now() + order.expiresInMs);
    return 'entered';
  };

  const readRow = (keyId: string, counter: Counter): Usage => {
    const leased = [...(held.get(keyId)?.values() ?? [])].reduce((sum, units) => sum + units, 0);
    const { used } = row(keyId, counter);
    return { used, leased: Math.min(used, leased) };
  };

  return {
    calls,
    draws,
    comeBack: () => hearers.forEach((hear) => hear()),
    onReturn: (hear) => void hearers.push(hear),
    used: (keyId, name, periodStart) => row(keyId, { name, periodStart }).used,
    taken: (...parts) => taken.get(JSON.stringify(parts)) ?? 0,
    counters: () => [...usage.values()],
    draw: (order) => {
      draws.push(order);
      return step('draw', () => runDraw(order));
    },
    giveBack: (order) => step('giveBack', () => runUnits(order, -order.units)),
    charge: (order) => step('charge', () => runUnits(order, order.units)),
    cancelDraw: (order) => step('cancelDraw', () => runCancel(order)),
    takeCells: (order) => step('takeCells', () => runCells(order)),
    enter: (order) => step('enter', () => runEnter(order)),
    stay: (order) =>
      step('stay', () => {
        placesOf(order.keyId).set(order.placeId, now() + order.expiresInMs);
      }),
    leave: (keyId, placeId) =>
      step('leave', () => {
        placesOf(keyId).delete(placeId);
      }),
    readTime: () => step('readTime', now),
    readUsage: (keyId, counters) =>
      step('readUsage', () => counters.map((counter) => readRow(keyId, counter))),
    resetUsage: (keyId, counters) =>
      step('resetUsage', () => {
        for (const counter of counters) row(keyId, counter).used = 0;
      }),
  };
}
