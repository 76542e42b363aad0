import {
  endOfTime,
  type CellsOrder,
  type Counter,
  type DrawOrder,
  type Ledger,
  type PlaceOrder,
  type UnitsOrder,
} from './ledger.ts';

/** A counter outlives its period by this many more, within these bounds: counters of short periods would pile up in a day. */
const periodsKept = 24;
const counterKeptMinMs = 60_000;
const counterKeptMaxMs = 86_400_000;
/** A process that has said nothing about its lease for this long has died; the lease is no longer shown. */
export const leaseToldMs = 3_600_000;

/**
 * Until when a counter is kept, so that late steps still find it, as do requests after the store's clock was briefly ahead:
 * `endOfTime` for a lifetime.
 */
export function keptUntil({ periodStart, periodEnd }: Counter): number {
  if (periodEnd === endOfTime) return periodEnd;
  const keptMs = Math.min(periodsKept * (periodEnd - periodStart), counterKeptMaxMs);
  return periodEnd + Math.max(keptMs, counterKeptMinMs);
}

/** A place that expires later than this is from a clock that was ahead: none is taken for longer. */
export const placeExpiresMaxMs = 60_000;

/** The same ledger, which refuses numbers that no store could count exactly. They are the gateway's mistake, not the store's. */
export function withChecks(ledger: Ledger): Ledger {
  return {
    ...ledger,
    draw: checked(checkDraw, (order) => ledger.draw(order)),
    giveBack: checked(checkUnits, (order) => ledger.giveBack(order)),
    charge: checked(checkUnits, (order) => ledger.charge(order)),
    takeCells: checked(checkCells, (order) => ledger.takeCells(order)),
    enter: checked(checkPlace, (order) => ledger.enter(order)),
    stay: checked(checkPlace, (order) => ledger.stay(order)),
  };
}

function checked<Order, Answer>(
  check: (order: NoInfer<Order>) => void,
  take: (order: Order) => Promise<Answer>,
): (order: Order) => Promise<Answer> {
  return (order) => {
    try {
      check(order);
    } catch (error) {
      return Promise.reject(error);
    }
    return take(order);
  };
}

function checkDraw({ need, want, held, counters }: DrawOrder): void {
  checkWhole(need, want, Math.abs(held), ...counters.map((counter) => counter.limit));
  if (want < need) throw new RangeError('a draw must not want less than it needs');
}

function checkUnits({ units, held }: UnitsOrder): void {
  checkWhole(units, held);
}

function checkCells({ intervalMs, burst, want }: CellsOrder): void {
  checkWhole(burst, want);
  if (want < 1 || burst < 1) throw new RangeError('a rate is taken in cells of at least one');
  if (!(intervalMs > 0 && intervalMs * burst <= Number.MAX_SAFE_INTEGER))
    throw new RangeError('no such interval');
}

function checkPlace({ expiresInMs }: PlaceOrder): void {
  if (!(expiresInMs > 0 && expiresInMs <= placeExpiresMaxMs))
    throw new RangeError(`no place is taken for ${expiresInMs} ms`);
}

function checkWhole(...numbers: readonly number[]): void {
  for (const number of numbers) {
    if (!Number.isSafeInteger(number) || number < 0)
      throw new RangeError(`${number} cannot be counted exactly`);
  }
}
