import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Countdown } from '../../../src/waiting/countdown.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { until } from '../../helpers/poll.ts';

test('a countdown is over once for each start that is not followed by another in time', async () => {
  let over = 0;
  const countdown = new Countdown(1, () => (over += 1));
  countdown.start();
  await until(() => over === 1);
  countdown.start();
  await until(() => over === 2);
  countdown.end();
});

for (const stop of ['pause', 'end'] as const) {
  test(`after ${stop} a countdown is not over before it is started again`, async () => {
    const over: string[] = [];
    const stopped = new Countdown(1, () => over.push('stopped'));
    stopped.start();
    stopped[stop]();
    const later = new Countdown(20, () => over.push('later'));
    later.start();
    await until(() => over.length > 0);
    stopped.start();
    await until(() => over.length > 1);
    assert.deepEqual(over, ['later', 'stopped']);
  });
}

for (const deed of ['start', 'pause', 'end'] as const) {
  test(`what was read while the process was held up is in time: ${deed}`, async () => {
    let over = 0;
    const countdown = new Countdown(20, () => (over += 1));
    await turn();
    countdown.start();
    holdUp(40);
    // In the next turn Node runs the timer first, and then what has come.
    await turn();
    countdown[deed]();
    await turn();
    assert.equal(over, 0);
    countdown.start();
    await until(() => over > 0);
    assert.equal(over, 1);
  });
}

test('all starts share one timer', (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout');
  const countdown = new Countdown(20, () => undefined);
  countdown.start();
  countdown.start();
  countdown.pause();
  countdown.start();
  countdown.end();
  assert.equal(timers.mock.callCount(), 1);
});

test('a countdown that was ended starts from the beginning', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let over = 0;
  const countdown = new Countdown(20, () => (over += 1));
  countdown.start();
  t.mock.timers.tick(15);
  countdown.end();
  countdown.start();
  t.mock.timers.tick(19);
  await turn();
  assert.equal(over, 0);
  t.mock.timers.tick(1);
  await turn();
  assert.equal(over, 1);
});
