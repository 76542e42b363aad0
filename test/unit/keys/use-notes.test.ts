import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundOf } from '../../../src/keys/found-key.ts';
import { createUseNotes } from '../../../src/keys/use-notes.ts';
import type { KeyUse } from '../../../src/stores/key-store.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';

test('uses are written in batches, the last of each secret, and those of the file never', async (t) => {
  const written: (readonly KeyUse[])[] = [];
  const notes = createUseNotes({ noteUses: async (uses) => void written.push(uses) }, 3_600_000);
  t.after(() => notes.close());
  const keys = Array.from({ length: 501 }, (_, at) => aKey({ id: `k${at}`, secrets: [aSecret()] }));
  for (const at of [1, 2]) {
    for (const record of keys) notes.note({ record, secret: record.secrets[0]! }, at);
  }
  notes.note(
    foundOf({ id: 'demo', plan: 'free', digest: digestOf('x'), enabled: true, expiresAt: undefined }),
    3,
  );
  await notes.flush();
  assert.deepEqual(
    written.map((uses) => uses.length),
    [500, 1],
  );
  assert.ok(written.flat().every(({ at }) => at === 2));
  await notes.flush();
  assert.equal(written.length, 2);
});

test('a store that fails costs the note and nothing else', async (t) => {
  let tries = 0;
  const notes = createUseNotes({
    noteUses: async () => {
      tries += 1;
      throw new Error('away');
    },
  });
  t.after(() => notes.close());
  const record = aKey();
  for (let round = 0; round < 2; round += 1) {
    notes.note({ record, secret: record.secrets[0]! }, 1);
    await notes.flush();
  }
  assert.equal(tries, 2);
});
