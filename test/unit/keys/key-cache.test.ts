import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { foundIn, type FoundKey } from '../../../src/keys/found-key.ts';
import { changedKeysMax, createKeyCache, knownKeysMax } from '../../../src/keys/key-cache.ts';
import { aKey, aSecret } from '../../helpers/a-key.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';

const reading = { readAt: 0, asOf: 0 };

/** A cache, and what it was given, as long as anything keeps it. */
function scene() {
  const cache = createKeyCache();
  const given: WeakRef<FoundKey>[] = [];
  return {
    cache,
    keep: (id: string, digest: string): void => {
      const found = foundIn(aKey({ id, secrets: [aSecret({ digest })] }), digest);
      assert.ok(found !== undefined);
      given.push(new WeakRef(found));
      cache.keep(digest, found, reading);
    },
    left: async (): Promise<number> => {
      await immediate(); // until then a WeakRef that was made holds what it refers to
      collectGarbage();
      return given.filter((ref) => ref.deref() !== undefined).length;
    },
  };
}

test('of a key that is read anew, whichever of its secrets, what was read before is not kept', async () => {
  const { cache, keep, left } = scene();
  for (const digest of ['a', 'b', 'c', 'c', 'b', 'a', 'b', 'b', 'a', 'c']) keep('k', digest);
  assert.equal(await left(), 3);
  cache.keep('b', undefined, reading);
  assert.equal(await left(), 2);
  cache.forgetKey('k');
  for (const digest of ['a', 'c']) assert.equal(cache.get(digest), undefined);
  assert.equal(await left(), 0);
});

test('of a key that changed nothing is found, whenever it was asked for before that', async () => {
  const { cache, keep, left } = scene();
  keep('k', 'a');
  keep('other', 'b');
  cache.forgetKey('k');
  keep('k', 'c');
  for (const digest of ['a', 'c']) assert.equal(cache.get(digest), undefined);
  // Those that nobody asks for any more are dropped once so many have changed, and what was asked for before that is not kept.
  keep('k2', 'd');
  for (let at = 0; at < changedKeysMax; at += 1) cache.forgetKey(`k${at}`);
  keep('k3', 'e');
  keep('other', 'f');
  assert.equal(await left(), 1);
  assert.equal(cache.get('b')?.found?.id, 'other');
  for (const digest of ['d', 'e', 'f']) assert.equal(cache.get(digest), undefined);
  const asOf = cache.changes;
  const found = foundIn(aKey({ id: 'k2', secrets: [aSecret({ digest: 'd' })] }), 'd');
  cache.keep('d', found, { readAt: 0, asOf });
  assert.equal(cache.get('d')?.found, found);
});

test('an answer from before a change takes nothing away that was read since', () => {
  const { cache, keep } = scene();
  cache.forgetKey('k');
  const found = foundIn(aKey({ id: 'k', secrets: [aSecret({ digest: 'a' })] }), 'a');
  cache.keep('a', found, { readAt: 0, asOf: cache.changes });
  keep('k', 'a');
  assert.equal(cache.get('a')?.found, found);
});

test('of a key that has to make room nothing is kept', async () => {
  const { keep, left } = scene();
  keep('k', 'a');
  keep('k', 'b');
  for (let at = 0; at < knownKeysMax; at += 1) keep(`k${at}`, `d${at}`);
  assert.equal(await left(), knownKeysMax);
});
