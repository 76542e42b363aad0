import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { collectWhenQuiet } from '../../../src/commands/collect-when-quiet.ts';
import { findCollector } from '../../../src/commands/find-collector.ts';

/** A gateway that works on nothing unless it is told otherwise, with the collections that were asked for. */
function quietGateway() {
  const collect = findCollector();
  const gateway = { inFlight: 0, quiet: (): void => undefined, collections: 0 };
  collectWhenQuiet(
    {
      get inFlight() {
        return gateway.inFlight;
      },
      whenQuiet: (listener) => (gateway.quiet = listener),
    },
    (how) => {
      assert.deepEqual(how, { type: 'minor' });
      gateway.collections += 1;
      collect(how);
    },
  );
  /** Many moments in which nothing is in flight, in one turn. */
  async function pass(): Promise<void> {
    for (let moment = 0; moment < 20; moment += 1) gateway.quiet();
    await nextTurn();
  }
  return { gateway, pass };
}

function young() {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  assert.ok(space);
  return { used: space.space_used_size, free: space.space_available_size };
}

/** Fills the young generation to this part of what it holds, with nothing that lasts. */
function fill(part: number): void {
  findCollector()({ type: 'minor' });
  const before = young();
  const enough = (before.used + before.free) * part;
  let last: readonly object[] = [];
  while (young().used < enough) last = Array.from({ length: 100 }, () => ({ at: last.length }));
}

test('a young generation that is half full is collected in a quiet moment, once', async () => {
  const { gateway, pass } = quietGateway();
  fill(0.6);
  const before = young();
  await pass();
  assert.equal(gateway.collections, 1);
  assert.ok(young().used < before.used / 2);
  await pass();
  assert.equal(gateway.collections, 1);
});

test('one that is less than half full is left alone', async () => {
  const { gateway, pass } = quietGateway();
  fill(0.4);
  await pass();
  assert.equal(gateway.collections, 0);
});

test('where more has come in the same turn it waits for the next quiet moment', async () => {
  const { gateway, pass } = quietGateway();
  fill(0.6);
  gateway.inFlight = 1;
  await pass();
  assert.equal(gateway.collections, 0);
  gateway.inFlight = 0;
  gateway.quiet();
  await nextTurn();
  assert.equal(gateway.collections, 1);
});
