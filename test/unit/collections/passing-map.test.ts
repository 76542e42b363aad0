import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PassingMap } from '../../../src/collections/passing-map.ts';
import { digestOf } from '../../helpers/a-key.ts';

test('what is under way is found as in a map, also where many share a slot', () => {
  const lookUps = new PassingMap<Promise<undefined>>();
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

test('texts of any length are told apart, also those that begin or end alike', () => {
  const map = new PassingMap<string>();
  const keys = [
    '',
    'a',
    'aa',
    'aaa',
    'aaaa',
    'aaaaa',
    'baaaa',
    'aaaab',
    'Käthe',
    '名',
    '\ud83d',
    '__proto__',
  ];
  for (const key of keys) map.add(key, `of ${key}`);
  for (const key of keys) assert.equal(map.get(key), `of ${key}`);
  for (const [at, key] of keys.entries()) {
    map.delete(key);
    for (const [other, left] of keys.entries())
      assert.equal(map.get(left), other > at ? `of ${left}` : undefined);
  }
});
