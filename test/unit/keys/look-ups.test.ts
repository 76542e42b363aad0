import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LookUps } from '../../../src/keys/look-ups.ts';
import { digestOf } from '../../helpers/a-key.ts';

test('look-ups are found by their digests as in a map, also where many share a slot', () => {
  const lookUps = new LookUps();
  const model = new Map<string, Promise<undefined>>();
  // Two thousand digests have eight to a slot, and each comes and goes several times, in no order.
  const digests = Array.from({ length: 2000 }, (_, at) => digestOf(`secret ${at}`));
  for (let step = 0; step < 20_000; step += 1) {
    const digest = digests[(step * 7919 + (step >> 3)) % digests.length] ?? '';
    assert.equal(lookUps.get(digest), model.get(digest));
    if (step % 3 === 2 || model.has(digest)) {
      lookUps.delete(digest);
      model.delete(digest);
    } else {
      const answer = Promise.resolve(undefined);
      lookUps.add(digest, answer);
      model.set(digest, answer);
    }
  }
  assert.ok(model.size > 100);
  for (const digest of digests) assert.equal(lookUps.get(digest), model.get(digest));
  lookUps.clear();
  for (const digest of digests) assert.equal(lookUps.get(digest), undefined);
});
