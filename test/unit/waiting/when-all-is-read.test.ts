import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { whenAllIsRead } from '../../../src/waiting/when-all-is-read.ts';

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
