import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences, viewKey } from '../../../src/keys/key-view.ts';
import { aKey, aSecret } from '../../helpers/a-key.ts';

test('a key was last used when the latest of its secrets was', () => {
  const secrets = [aSecret({ number: 1 }), aSecret({ number: 2 })];
  const usedAt = new Map([
    [1, 5000],
    [2, 4000],
  ]);
  const view = viewKey({ record: aKey({ secrets }), usedAt }, 9000);
  assert.equal(view.lastUsedAt, '1970-01-01T00:00:05.000Z');
  assert.deepEqual(
    view.secrets.map((secret) => secret.lastUsedAt),
    ['1970-01-01T00:00:05.000Z', '1970-01-01T00:00:04.000Z'],
  );
  assert.equal(viewKey({ record: aKey(), usedAt: new Map() }, 9000).lastUsedAt, null);
});

test('the audit log is told of what is no longer true, and of nothing that was and is empty', () => {
  const key = aKey();
  assert.deepEqual(differences(key, { ...key, enabled: false }), { enabled: [true, false] });
  assert.deepEqual(differences(key, { ...key, name: 'n' }), { name: [undefined, 'n'] });
  assert.deepEqual(differences({ ...key, labels: { a: '1' } }, key), { labels: [{ a: '1' }, undefined] });
  assert.deepEqual(Object.keys(differences(undefined, key)), ['enabled', 'plan', 'secrets']);
});
