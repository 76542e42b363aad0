import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundIn, type FoundKey } from '../../../src/keys/found-key.ts';
import { changedKeysMax, KeyCache } from '../../../src/keys/key-cache.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';

/** A cache, asked by secrets. */
function scene() {
  const cache = new KeyCache();
  return {
    cache,
    keep: (id: string, secret: string, asOf = 0): void =>
      cache.keep(digestOf(secret), aFound(id, secret), { readAt: 0, asOf }),
    idOf: (secret: string): string | undefined => cache.get(digestOf(secret))?.found?.id,
  };
}

function aFound(id: string, secret: string): FoundKey {
  const digest = digestOf(secret);
  return foundIn(aKey({ id, secrets: [aSecret({ digest })] }), digest) ?? assert.fail();
}

test('of a key that changed nothing is found, whenever it was asked for before that', () => {
  const { cache, keep, idOf } = scene();
  keep('k', 'a');
  keep('other', 'b');
  assert.equal(idOf('a'), 'k');
  cache.forgetKey('k');
  keep('k', 'c');
  for (const secret of ['a', 'c']) assert.equal(idOf(secret), undefined);
  // Those that nobody asks for any more are dropped once so many have changed, and what was asked for before that is not kept.
  keep('k2', 'd');
  for (let at = 0; at < changedKeysMax; at += 1) cache.forgetKey(`k${at}`);
  keep('k3', 'e');
  keep('other', 'f');
  assert.equal(idOf('b'), 'other');
  for (const secret of ['d', 'e', 'f']) assert.equal(idOf(secret), undefined);
  keep('k2', 'd', cache.changes);
  assert.equal(idOf('d'), 'k2');
  // That takes long, so not before as many have changed again.
  const { changes } = cache;
  cache.forgetKey('other');
  keep('k3', 'e', changes);
  assert.equal(idOf('e'), 'k3');
});

test('an answer from before a change takes nothing away that was read since', () => {
  const { cache, keep, idOf } = scene();
  cache.forgetKey('k');
  keep('k', 'a', cache.changes);
  keep('k', 'a');
  cache.keep(digestOf('a'), undefined, { readAt: 0, asOf: 0 });
  assert.equal(idOf('a'), 'k');
});
