import { setImmediate } from 'node:timers/promises';
import type { DrawOrder, Ledger } from '../../src/stores/ledger.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import type { DrawerTask } from './drawers.ts';
import { nextId } from './ledger-orders.ts';

// A process that draws until nothing is left, and tells its parent of each draw after it was answered.
process.once('message', (message) => void drawAll(message as DrawerTask));

async function drawAll({ address, counters, unitsPerDraw }: DrawerTask): Promise<void> {
  const store = await openStore(address, { deadlineMs: 10_000 });
  const holder = String(process.pid);
  for (;;) {
    const order = { ...nextId(), keyId: 'key', counters, need: 1, want: unitsPerDraw, holder, held: 0 };
    try {
      const answer = await store.ledger.draw(order);
      if (answer.kind !== 'drawn') break;
      await tell(answer.units);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await cancel(store.ledger, order);
    }
  }
  await store.close();
  process.disconnect?.();
}

/** Resolves when the units are on their way: what waited in here would be lost with a process that is killed. */
function tell(units: number): Promise<void> {
  return new Promise((resolve) => process.send?.(units, undefined, undefined, () => resolve()));
}

async function cancel(ledger: Ledger, order: DrawOrder): Promise<void> {
  for (;;) {
    try {
      await ledger.cancelDraw(order);
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      // A refusal takes no time at all, and sockets want their turn.
      await setImmediate();
    }
  }
}
