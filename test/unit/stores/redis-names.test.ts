import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameKeys, slotOf } from '../../../src/stores/redis/names.ts';

const ids = ['', 'a', '}', '{}', '{a}b', 'a{b', ' ', 'ключ', '🔑', '\n', 'x'.repeat(300)];

test('all that belongs to one API key lies in one slot, whatever is in its id and in the names', () => {
  for (const id of ids) {
    const names = nameKeys('gatehouse:', id);
    const all = [...names.steps('{h}'), names.places()];
    for (const name of ids) all.push(names.rate(name), names.counter({ name, periodStart: 0 }));
    assert.equal(new Set(all.map(slotOf)).size, 1, JSON.stringify(id));
    assert.equal(new Set(all).size, all.length, JSON.stringify(id));
  }
});

test('slots are those of the specification', () => {
  // From CLUSTER KEYSLOT of a real server.
  const slots = {
    foo: 12_182,
    '{user1000}.following': 3_443,
    'foo{}{bar}': 8_363,
    'foo{{bar}}zap': 4_015,
    'foo{bar}{zap}': 5_061,
    'a}b': 7_866,
    '}{a}': 15_495,
    '{}{a}': 13_650,
  };
  for (const [key, slot] of Object.entries(slots)) assert.equal(slotOf(key), slot, key);
});
