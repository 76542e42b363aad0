import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterReading, allIsRead, whenAllIsRead } from '../../../src/waiting/when-all-is-read.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { until } from '../../helpers/poll.ts';

describe('what is sent in one turn of the event loop', () => {
  it('waits for what is still read in that turn, and goes out in its order before the next', async () => {
    const order: string[] = [];
    whenAllIsRead(() => order.push('first'));
    process.nextTick(() => order.push('read'));
    whenAllIsRead(() => order.push('second'));
    await endOfTurn();
    assert.deepEqual(order, ['read', 'first', 'second']);
  });

  it('lets what comes of it wait for the next turn, so that reading goes on', async () => {
    const order: string[] = [];
    whenAllIsRead(() => {
      order.push('sent');
      whenAllIsRead(() => order.push('sent by it'));
    });
    await endOfTurn();
    assert.deepEqual(order, ['sent']);
    await endOfTurn();
    assert.deepEqual(order, ['sent', 'sent by it']);
  });
});

describe('those who wait until all is read', () => {
  it('go on together, stage after stage, before what comes of them is sent', async () => {
    const order: string[] = [];
    const travel = async (name: string): Promise<void> => {
      await allIsRead();
      whenAllIsRead(() => order.push(`${name} is sent`));
      order.push(`${name} is checked`);
      await Promise.resolve();
      order.push(`${name} is passed on`);
    };
    whenAllIsRead(() => order.push('an earlier one is sent'));
    void travel('a');
    process.nextTick(() => void travel('b'));
    await endOfTurn();
    assert.deepEqual(order, [
      'a is checked',
      'b is checked',
      'a is passed on',
      'b is passed on',
      'an earlier one is sent',
      'a is sent',
      'b is sent',
    ]);
  });

  it('are not forgotten when they come after the others have gone on', async () => {
    const order: string[] = [];
    const travel = async (): Promise<void> => {
      await allIsRead();
      order.push('first');
      await allIsRead();
      order.push('second');
    };
    void travel();
    await endOfTurn();
    await endOfTurn();
    await endOfTurn();
    assert.deepEqual(order, ['first', 'second']);
  });
});

test('what is called back after a time can still be cancelled while all is read', async () => {
  const called: string[] = [];
  const cancel = afterReading(1, () => called.push('cancelled'));
  // Its time is over by then.
  setTimeout(cancel, 1);
  afterReading(1, () => called.push('last'));
  holdUp(5);
  await until(() => called.includes('last'));
  assert.deepEqual(called, ['last']);
});
