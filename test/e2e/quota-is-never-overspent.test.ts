import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { until } from '../helpers/poll.ts';
import { startChaos } from '../helpers/quota-chaos.ts';

const callers = 16;
/** One key for each test, which all have the same gateways. */
const limits = { tormented: 600, exact: 200, set: 4000, bereft: 300 };

for (const store of ['sqlite', 'redis'] as const) {
  describe(`two gateways on one ${store}`, async () => {
    // What a test starts in place of what it has killed stays for the next.
    const undone: (() => void | Promise<void>)[] = [];
    const scene = { after: (undo: () => void | Promise<void>) => void undone.push(undo) };
    after(async () => {
      for (const undo of undone.toReversed()) await undo();
    });
    const chaos = await startChaos(scene, { store, limits, gateways: 2, callers });

    test('whatever is done to them and to it, no unit is spent twice', async (t) => {
      const spending = chaos.spendWith('tormented');
      for (const [name, fault] of Object.entries(spending.faults)) {
        // This has a test of its own below.
        if (name === 'kill -9 of a gateway') continue;
        const before = spending.arrived();
        assert.ok(before < limits.tormented, `nothing is left to spend for: ${name}`);
        await fault().catch((cause: unknown) => {
          throw new Error(name, { cause });
        });
        t.diagnostic(`${name}: ${spending.arrived() - before} requests, ${spending.arrived()} in all`);
      }
      await spending.spend();
      const tally = JSON.stringify(Object.fromEntries(spending.callers.tally));
      t.diagnostic(`${spending.arrived()} of ${limits.tormented}; ${tally}`);
    });

    test('spend a quota to the last unit and no further', async () => {
      const spending = chaos.spendWith('exact');
      await until(() => spending.arrived() === limits.exact);
      await spending.spend();
      assert.equal(spending.arrived(), limits.exact);
      assert.equal(spending.callers.tally.get('200'), limits.exact);
      const isSettled = async () => {
        const { used, leased } = await chaos.usage('exact');
        return used === limits.exact && leased === 0;
      };
      await until(isSettled);
    });

    test('spend what is left when usage is set while they spend, and no further, and so at rest to the unit', async (t) => {
      const spending = chaos.spendWith('set');
      await until(() => spending.arrived() > 150);
      const before = spending.arrived();
      const { leased } = await chaos.setUsage('set', limits.set - 150);
      const inBetween = spending.arrived();
      await spending.spend();
      const arrived = spending.arrived();
      t.diagnostic(`${leased} were held, ${arrived - before} to ${arrived - inBetween} of 150 came after it`);
      // What was reserved for requests under way was counted before it.
      assert.ok(arrived - inBetween <= 150 + callers, `${arrived - inBetween} of 150 were let through`);
      assert.ok(arrived - before >= 150 - leased);

      await until(async () => (await chaos.usage('set')).leased === 0);
      assert.deepEqual(await chaos.setUsage('set', limits.set - 40), { used: limits.set - 40, leased: 0 });
      await chaos.spendWith('set').spend();
      assert.equal(spending.arrived() - arrived, 40);
    });

    test('strand one lease at most when one of them is killed under load, and overspend nothing', async () => {
      const spending = chaos.spendWith('bereft');
      await until(() => spending.arrived() > 75);
      await spending.crash();
      await spending.spend();
      await chaos.stop();
      const { used, leased } = await chaos.usage('bereft');
      assert.equal(used, limits.bereft);
      // What was reserved for requests that had not left for the upstream is lost with the process too.
      const stranded = limits.bereft - spending.arrived();
      assert.ok(stranded <= leased + callers, `${stranded} units are lost, ${leased} were leased`);
    });
  });
}
