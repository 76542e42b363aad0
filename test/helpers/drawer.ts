import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../../src/stores/ledger.ts';
import { openStore } from '../../src/stores/open-store.ts';
import type { DrawerTask } from './drawers.ts';

// A process that draws until nothing is left, and tells its parent of each draw after it was answered.
process.once('message', (message) => void drawAll(message as DrawerTask));

async function drawAll({ address, counters, unitsPerDraw }: DrawerTask): Promise<void> {
  const store = await openStore(address, { deadlineMs: 2_000 });
  const holder = String(process.pid);
  for (;;) {
    const order = { id: randomUUID(), keyId: 'key', counters, need: 1, want: unitsPerDraw, holder, held: 0 };
    try {
      const answer = await store.ledger.draw(order);
      if (answer.kind !== 'drawn') break;
      process.send?.(answer.units);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await cancel(() => store.ledger.cancelDraw(order));
    }
  }
  await store.close();
  process.disconnect?.();
}

async function cancel(attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}
