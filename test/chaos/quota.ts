import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChaos } from '../helpers/quota-chaos.ts';
import { createRandom } from '../helpers/random.ts';

/*
 * Nothing that is let through goes uncounted: faults in random order for as long as CHAOS_SECONDS says, 60 by default, on each store. The seed is printed, and
 * CHAOS_SEED repeats the order.
 */
const seconds = Number(process.env['CHAOS_SECONDS'] ?? 60);
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);

for (const store of ['sqlite', 'redis', 'cluster'] as const) {
  test(
    `${seconds} s of chaos on ${store} overspend nothing`,
    { timeout: seconds * 2000 + 120_000 },
    async (t) => {
      const random = createRandom(seed);
      const limits = { ada: Number.MAX_SAFE_INTEGER };
      const chaos = await startChaos(t, { store, limits, gateways: 3, callers: 16 });
      const spending = chaos.spendWith('ada');
      const faults = Object.entries(spending.faults);
      t.diagnostic(`seed ${seed}`);
      const end = performance.now() + seconds * 1000;
      while (performance.now() < end) {
        const [name, fault] = faults[Math.floor(random() * faults.length)]!;
        await fault();
        t.diagnostic(`${name}; ${spending.arrived()} requests in all`);
      }
      await spending.callers.stop();
      await chaos.stop();
      const { used } = await chaos.usage('ada');
      assert.ok(
        spending.arrived() <= used,
        `${spending.arrived()} requests were let through, ${used} counted`,
      );
      t.diagnostic(`${used - spending.arrived()} of ${used} units stranded`);
      t.diagnostic(JSON.stringify(Object.fromEntries(spending.callers.tally)));
    },
  );
}
