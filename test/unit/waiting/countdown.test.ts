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

test('a start that was read while the process was held up is in time', async () => {
  let over = 0;
  const countdown = new Countdown(20, () => (over += 1));
  await turn();
  countdown.start();
  holdUp(40);
  // In the next turn Node runs the timer first, and then what has come.
  await turn();
  countdown.start();
  assert.equal(over, 0);
  await until(() => over > 0);
  assert.equal(over, 1);
});
