import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAudit, listKeys } from '../../../src/keys/key-pages.ts';
import type { KeyStore } from '../../../src/stores/key-store.ts';
import { aKey, aNote } from '../../helpers/a-key.ts';
import { countTurns } from '../../helpers/count-turns.ts';

/** A store with more keys and entries than anybody has, none of them of the owner or the key that is asked for. */
function endlessStore() {
  const asked = { keys: 0, entries: 0 };
  const store = {
    listKeys: async (after: string, limit: number) => {
      const first = Number(after.slice(1) || 0) + 1;
      asked.keys += limit;
      return Array.from({ length: limit }, (_, at) => {
        const id = `k${first + at}`;
        return { id, found: { record: aKey({ id }), usedAt: new Map<number, number>() } };
      });
    },
    listAudit: async (before: string | undefined, limit: number) => {
      const last = Number(before ?? 1_000_001) - 1;
      asked.entries += limit;
      return Array.from({ length: limit }, (_, at) => {
        const id = String(last - at);
        return { id, found: { id, at: 1, keys: 1, ...aNote() } };
      });
    },
  };
  return { asked, store: store as unknown as KeyStore };
}

test('a page that nothing fits ends after so many keys, and the next one goes on behind them', async () => {
  const { asked, store } = endlessStore();
  const page = await listKeys(store, { owner: 'nobody' }, Date.now);
  assert.deepEqual(page, { items: [], unreadable: [], next: 'k5000' });
  assert.equal(asked.keys, 5000);
  assert.equal((await listKeys(store, { owner: 'nobody', cursor: 'k5000' }, Date.now)).next, 'k10000');
});

test('a page of the audit log that nothing fits ends after so many entries, too', async () => {
  const { asked, store } = endlessStore();
  const page = await listAudit(store, { keyId: 'nobody' });
  assert.deepEqual(page, { items: [], unreadable: [], next: '995001' });
  assert.equal(asked.entries, 5000);
});

test('each reading of a page has a turn of its own, however many pages are asked for and however fast the store answers', async (t) => {
  const { store } = endlessStore();
  const turns = countTurns(t);
  const readAt: number[] = [];
  const noting: typeof store = {
    ...store,
    async listKeys(after, limit) {
      readAt.push(turns());
      return await store.listKeys(after, limit);
    },
    async listAudit(before, limit) {
      readAt.push(turns());
      return await store.listAudit(before, limit);
    },
  };
  const pages = [1, 2, 3].map(() => listKeys(noting, { owner: 'nobody' }, Date.now));
  await Promise.all([...pages, listAudit(noting, { keyId: 'nobody' })]);
  assert.equal(readAt.length, 100);
  assert.equal(new Set(readAt).size, 100);
});

test('a reading that fails ends its page and keeps no other from being read', async () => {
  const { store } = endlessStore();
  const gone = new Error('gone');
  const failing = { listKeys: () => Promise.reject(gone) } as unknown as KeyStore;
  const pages = [failing, store].map((one) => listKeys(one, { owner: 'nobody' }, Date.now));
  const [failed, read] = await Promise.allSettled(pages);
  assert.deepEqual([failed?.status, read?.status], ['rejected', 'fulfilled']);
});

test('a label is asked for by its name, and no key has those that every object has', async () => {
  const record = aKey({ labels: { team: 'blue' } });
  const store = {
    listKeys: async () => [{ id: record.id, found: { record, usedAt: new Map<number, number>() } }],
  } as unknown as KeyStore;
  const fits = async (...labels: string[]) =>
    (await listKeys(store, { labels }, Date.now)).items.length === 1;
  assert.ok(await fits('team'));
  assert.ok(await fits('team=blue', 'team'));
  assert.ok(!(await fits('team=red')));
  assert.ok(!(await fits('team', 'constructor')));
});

test('a page has up to a thousand keys whose name begins as was asked', async () => {
  const named = ['ab', 'ba', 'a'].map((name, at) => ({
    id: `k${at}`,
    found: { record: aKey({ id: `k${at}`, name }), usedAt: new Map<number, number>() },
  }));
  const store = { listKeys: async () => named } as unknown as KeyStore;
  const list = async (query: Parameters<typeof listKeys>[1]) =>
    (await listKeys(store, query, Date.now)).items.map(({ id }) => id);
  assert.deepEqual(await list({ name: 'a', limit: 1000 }), ['k0', 'k2']);
  assert.deepEqual(await list({ limit: 1 }), ['k0']);
  for (const limit of [0, 1001, 1.5]) await assert.rejects(list({ limit }), /whole number from 1 to 1000/);
  await assert.rejects(list({ cursor: 'no id' }), /not one that a page ended with/);
});
