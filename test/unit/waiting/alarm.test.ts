import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alarm } from '../../../src/waiting/alarm.ts';
import { createTurnableClock } from '../../helpers/turnable-clock.ts';

test('an alarm rings once, however often it was set meanwhile', async () => {
  const clock = createTurnableClock();
  let rung = 0;
  const alarm = new Alarm({ clock, afterMs: 100, ring: () => (rung += 1) });
  alarm.set();
  await clock.pass(60);
  alarm.set();
  assert.equal(clock.timers, 1);
  await clock.pass(40);
  assert.equal(rung, 1);
  await clock.pass(1000);
  assert.equal(rung, 1, 'what was set before it rang is over');
});

test('it can be set again while it rings', async () => {
  const clock = createTurnableClock();
  let rung = 0;
  const alarm = new Alarm({
    clock,
    afterMs: 100,
    ring: () => {
      rung += 1;
      if (rung < 3) alarm.set();
    },
  });
  alarm.set();
  await clock.pass(1000);
  assert.equal(rung, 3);
  assert.equal(clock.timers, 0);
});
