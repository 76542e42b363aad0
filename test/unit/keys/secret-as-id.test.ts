import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireKey } from '../../../src/keys/change-key.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { createUsageBook } from '../../../src/quota/usage-book.ts';

test('a secret in the place of an id is no key, and the store does not see it', async () => {
  const asked: string[] = [];
  const readKey = (id: string) => Promise.resolve(void asked.push(id));
  const tools = { store: { readKey }, rules: { staticKeys: [] } } as unknown as Parameters<
    typeof requireKey
  >[1];
  const parts = { config: { keys: [], plans: new Map() }, store: { keys: { readKey } } };
  const book = createUsageBook(parts as unknown as Parameters<typeof createUsageBook>[0]);
  const secret = createKeyFormat('gh').create();
  for (const id of [secret, 'ada']) {
    await assert.rejects(requireKey(id, tools), { code: 'not_found' });
    await assert.rejects(book.read(id), { code: 'not_found' });
  }
  assert.deepEqual(asked, ['ada', 'ada']);
});
