import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundIn, foundOf, type FoundKey } from '../../../src/keys/found-key.ts';
import { gatheredMax, UseNotes } from '../../../src/keys/use-notes.ts';
import type { KeyRecord, KeyUse } from '../../../src/stores/key-store.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';
import { until } from '../../helpers/poll.ts';

test('uses are written in batches, the last of each secret, and those of the file never', async (t) => {
  const written: (readonly KeyUse[])[] = [];
  const notes = new UseNotes({ noteUses: async (uses) => void written.push(uses) });
  t.after(() => notes.close());
  const keys = Array.from({ length: 501 }, (_, at) => aKey({ id: `k${at}`, secrets: [aSecret()] }));
  for (const at of [1, 2]) {
    for (const record of keys) notes.note(found(record), at);
  }
  notes.note(
    foundOf({
      id: 'demo',
      plan: 'free',
      owner: '',
      digest: digestOf('x'),
      enabled: true,
      expiresAt: undefined,
    }),
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
  const notes = new UseNotes({
    noteUses: async () => {
      tries += 1;
      throw new Error('away');
    },
  });
  t.after(() => notes.close());
  const record = aKey();
  for (let round = 0; round < 2; round += 1) {
    notes.note(found(record), 1);
    await notes.flush();
  }
  assert.equal(tries, 2);
});

test('more than are gathered are written before their time, and what comes while a slow store writes is bounded', async (t) => {
  const written: (readonly KeyUse[])[] = [];
  const slow = Promise.withResolvers<void>();
  const noteUses = async (uses: readonly KeyUse[]): Promise<void> => {
    await slow.promise;
    written.push(uses);
  };
  const notes = new UseNotes({ noteUses });
  t.after(() => notes.close());
  const key = found(aKey());
  const use = (from: number, keys: number, later = 0): void => {
    for (let at = from; at < from + keys; at += 1) notes.note({ ...key, id: `k${at}` }, at + later);
  };
  use(0, 3 * gatheredMax);
  use(gatheredMax, 1, 5);
  slow.resolve();
  await until(() => written.flat().length === gatheredMax);
  use(3 * gatheredMax, 1);
  await until(() => written.flat().length === 2 * gatheredMax);
  assert.equal(new Set(written.flat().map(({ keyId }) => keyId)).size, 2 * gatheredMax);
  const again = written.flat().find(({ keyId }) => keyId === `k${gatheredMax}`);
  assert.equal(again?.at, gatheredMax + 5, 'what is gathered already takes no room');
  await notes.flush();
  assert.deepEqual(written.flat().at(-1)?.keyId, `k${3 * gatheredMax}`);
  assert.equal(written.flat().length, 2 * gatheredMax + 1);
});

test('the end does not wait for a store that is silent', { timeout: 20_000 }, async () => {
  const notes = new UseNotes({ noteUses: () => new Promise(() => undefined) });
  notes.note(found(aKey()), 1);
  await notes.close();
});

/** A key as a request finds it by its first secret. */
function found(record: KeyRecord): FoundKey {
  const key = foundIn(record, record.secrets[0]?.digest ?? '');
  assert.ok(key !== undefined);
  return key;
}
