import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { HoldUps } from '../../../src/waiting/hold-ups.ts';

test('a process that runs its timers was not held up, however long nobody asks', (t) => {
  const { holdUps, run } = scene(t);
  for (let beat = 0; beat < 40; beat += 1) run(250);
  assert.equal(holdUps.wasHeldUp(), false);
});

test('a hold-up is told of once, whether a timer or a question notices it', (t) => {
  const { holdUps, run, standStill } = scene(t);
  standStill(1000);
  assert.equal(holdUps.wasHeldUp(), true);
  assert.equal(holdUps.wasHeldUp(), false);
  standStill(1000);
  run(250);
  run(250);
  assert.equal(holdUps.wasHeldUp(), true);
  assert.equal(holdUps.wasHeldUp(), false);
});

test('a shorter one is none, and several do not add up', (t) => {
  const { holdUps, standStill } = scene(t);
  for (let time = 0; time < 3; time += 1) {
    standStill(999);
    assert.equal(holdUps.wasHeldUp(), false);
  }
});

function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  const holdUps = new HoldUps(() => now, 1000);
  t.after(() => holdUps.end());
  return {
    holdUps,
    run: (ms: number): void => {
      now += ms;
      t.mock.timers.tick(ms);
    },
    standStill: (ms: number): void => void (now += ms),
  };
}
