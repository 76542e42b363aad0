import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stopping } from '../../../src/admin/stopping.ts';

test('once the gateway is stopping nobody is waited for any more', async () => {
  const stopping = new Stopping();
  assert.equal(await stopping.orStop(Promise.resolve(1)), 1);
  stopping.begin();
  assert.throws(() => stopping.check(), { code: 'stopping' });
  await assert.rejects(stopping.orStop(Promise.withResolvers().promise), { code: 'stopping' });
});
