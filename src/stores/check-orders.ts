import type { CellsOrder, DrawOrder, Ledger, PlaceOrder, UnitsOrder, UsageOrder } from './ledger.ts';
import { placeExpiresMaxMs } from './retention.ts';

/** The same ledger, which refuses numbers that no store could count exactly. They are the gateway's mistake, not the store's. */
export function withChecks(ledger: Ledger): Ledger {
  return {
    ...ledger,
    draw: checked(checkDraw, (order) => ledger.draw(order)),
    giveBack: checked(checkUnits, (order) => ledger.giveBack(order)),
    charge: checked(checkUnits, (order) => ledger.charge(order)),
    takeCells: checked(checkCells, (order) => ledger.takeCells(order)),
    enter: checked(checkEntry, (order) => ledger.enter(order)),
    stay: checked(checkPlace, (order) => ledger.stay(order)),
    setUsage: checked(checkUsage, (order) => ledger.setUsage(order)),
  };
}

function checked<Order, Answer>(
  check: (order: NoInfer<Order>) => void,
  take: (order: Order) => Promise<Answer>,
): (order: Order) => Promise<Answer> {
  return async (order) => {
    check(order);
    return take(order);
  };
}

function checkDraw({ need, want, held, counters }: DrawOrder): void {
  checkWhole(need, want, Math.abs(held), ...counters.map((counter) => counter.limit));
  if (want < need) throw new RangeError('a draw must not want less than it needs');
}

function checkUnits({ units, held }: UnitsOrder): void {
  checkWhole(units, ...held);
}

function checkUsage({ spent }: UsageOrder): void {
  checkWhole(spent);
}

function checkCells({ intervalMs, burst, want }: CellsOrder): void {
  checkWhole(burst, want);
  if (want < 1 || burst < 1) throw new RangeError('a rate is taken in cells of at least one');
  if (!(intervalMs > 0 && intervalMs * burst <= Number.MAX_SAFE_INTEGER))
    throw new RangeError('no such interval');
}

function checkEntry(order: PlaceOrder): void {
  checkPlace(order);
  if (order.expiresInMs === 0) throw new RangeError('no place is entered for no time');
}

function checkPlace({ expiresInMs }: PlaceOrder): void {
  if (!(expiresInMs >= 0 && expiresInMs <= placeExpiresMaxMs))
    throw new RangeError(`no place is taken for ${expiresInMs} ms`);
}

function checkWhole(...numbers: readonly number[]): void {
  for (const number of numbers) {
    if (!Number.isSafeInteger(number) || number < 0)
      throw new RangeError(`${number} cannot be counted exactly`);
  }
}
