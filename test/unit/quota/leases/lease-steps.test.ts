import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaseSteps } from '../../../../src/quota/leases/lease-steps.ts';
import { OpenSteps } from '../../../../src/quota/leases/open-steps.ts';
import type { Ledger } from '../../../../src/stores/ledger.ts';
import { StoreUnavailable } from '../../../../src/stores/store-unavailable.ts';
import { memoryUsed } from '../../../helpers/collect-garbage.ts';
import { aCounter } from '../../../helpers/ledger-orders.ts';
import { createTurnableClock, settle as runReady } from '../../../helpers/turnable-clock.ts';

test('what keys owe leaves half of the outbox to units that are on their way back', async () => {
  const steps = new LeaseSteps({
    ledger: { charge: isAway } as unknown as Ledger,
    clock: createTurnableClock(),
    holder: 'one',
    book: new Map(),
    onError: () => assert.fail(),
    stepsMax: 10,
    owingKeysMax: 100,
    onStep: () => undefined,
  });
  for (let n = 0; n < 20; n += 1) {
    steps.owed.open(`k${n}`);
    steps.owed.close(`k${n}`, [aCounter({})], 3);
  }
  for (let sweep = 0; sweep < 4; sweep += 1) {
    steps.chargeOwed();
    steps.outbox.retry();
    await runReady();
  }
  assert.equal(steps.outbox.size, 5);
  assert.equal([...steps.owed.collect()].length, 15, 'nothing of the rest is lost');
});

test('a key of which no step is open takes no memory', () => {
  const steps = new OpenSteps();
  const before = memoryUsed();
  for (let n = 0; n < 20_000; n += 1) {
    const keyId = `key-${n}`;
    steps.end(keyId, steps.begin(keyId).id);
  }
  const kept = memoryUsed() - before;
  assert.ok(kept < 1_000_000, `${kept} bytes are kept`);
  assert.equal(steps.begin('key-0').openFrom, 20_001);
});

function isAway(): Promise<never> {
  return Promise.reject(new StoreUnavailable('away', { mayHaveHappened: false }));
}
