import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordOf } from '../../../src/keys/found-key.ts';
import { findKeysInBoth } from '../../../src/keys/keys-in-both.ts';
import { StoreUnavailable, Unreadable } from '../../../src/stores/store-unavailable.ts';

const keys = ['a', 'b', 'c'].map((id) => ({ id, digest: id.repeat(64) }));
const inStore = recordOf({
  id: 'b',
  plan: 'free',
  owner: '',
  digest: 'b'.repeat(64),
  enabled: true,
  expiresAt: undefined,
});

function storeWhereReading(id: string, fault: Error) {
  return {
    findKey: async () => undefined,
    readKey: async (asked: string) => {
      if (asked === id) throw fault;
      return asked === 'b' ? { record: inStore, usedAt: new Map<number, number>() } : undefined;
    },
  };
}

test('a key whose record is spoilt hides no other key that stands in the file and in the store', async () => {
  const found = await findKeysInBoth(
    keys,
    storeWhereReading('a', new Unreadable('what stands there is no key')),
  );
  assert.deepEqual(found, ['b']);
});

test('a store that is away is not taken for one without keys', async () => {
  const away = new StoreUnavailable('nobody answers', { mayHaveHappened: false });
  await assert.rejects(findKeysInBoth(keys, storeWhereReading('c', away)), away);
});

const storeWithSecret = (revokedAt: number | undefined) => ({
  readKey: async () => undefined,
  findKey: async (digest: string) =>
    digest === inStore.secrets[0]?.digest ? { ...inStore, revokedAt } : undefined,
});

test('a key of the file is in the store by its secret too, unless it was revoked there', async () => {
  assert.deepEqual(await findKeysInBoth(keys, storeWithSecret(undefined)), ['b']);
  assert.deepEqual(await findKeysInBoth(keys, storeWithSecret(1)), []);
});
