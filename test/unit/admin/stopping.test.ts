import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stopping } from '../../../src/admin/stopping.ts';

test('once the gateway is stopping nobody is waited for any more, or asked for anything', async () => {
  const stopping = new Stopping();
  assert.equal(await stopping.orStop(async () => 1), 1);
  const waiting = stopping.orStop(() => Promise.withResolvers().promise);
  stopping.begin();
  await assert.rejects(waiting, { code: 'stopping' });
  await assert.rejects(stopping.orStop(assert.fail), { code: 'stopping' });
});
