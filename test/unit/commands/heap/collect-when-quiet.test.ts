import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { collectWhenQuiet, findCollector } from '../../../../src/commands/heap/collect-when-quiet.ts';

/** A gateway that works on nothing unless it is told otherwise, with the collections that were asked for. */
function quietGateway(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const collect = findCollector();
  const gateway = { inFlight: 0, done: (): void => undefined, collections: 0 };
  collectWhenQuiet(
    {
      get inFlight() {
        return gateway.inFlight;
      },
      whenDone: (listener) => (gateway.done = listener),
    },
    (how) => {
      assert.deepEqual(how, { type: 'minor' });
      gateway.collections += 1;
      collect(how);
    },
  );
  /** Many requests are done in one turn. */
  async function pass(): Promise<void> {
    for (let request = 0; request < 20; request += 1) gateway.done();
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

test('a young generation that is half full is collected in a quiet moment, once', async (t) => {
  const { gateway, pass } = quietGateway(t);
  fill(0.6);
  const before = young();
  await pass();
  assert.equal(gateway.collections, 1);
  assert.ok(young().used < before.used / 2);
  await pass();
  assert.equal(gateway.collections, 1);
});

test('one that is less than half full is left alone', async (t) => {
  const { gateway, pass } = quietGateway(t);
  fill(0.4);
  await pass();
  assert.equal(gateway.collections, 0);
});

test('where more has come in the same turn it waits for the next quiet moment', async (t) => {
  const { gateway, pass } = quietGateway(t);
  fill(0.6);
  for (let request = 0; request < 20; request += 1) gateway.done();
  gateway.inFlight = 1;
  await nextTurn();
  assert.equal(gateway.collections, 0);
  gateway.inFlight = 0;
  await pass();
  assert.equal(gateway.collections, 1);
});

test('no moment is quiet in which more is in flight than the least in the second before, streams that stay included', async (t) => {
  const { gateway, pass } = quietGateway(t);
  fill(0.6);
  gateway.inFlight = 5;
  await pass();
  t.mock.timers.tick(1000); // in that second there had been none at first
  gateway.inFlight = 6;
  await pass();
  gateway.inFlight = 5;
  await pass();
  assert.equal(gateway.collections, 0);
  t.mock.timers.tick(2000); // in the last of them nothing was done
  gateway.inFlight = 6;
  await pass();
  assert.equal(gateway.collections, 0);
  gateway.inFlight = 5;
  await pass();
  assert.equal(gateway.collections, 1);
});
