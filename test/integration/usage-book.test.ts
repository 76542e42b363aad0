import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import type { PlanRule } from '../../src/config/plan-rule.ts';
import { KeyProblem } from '../../src/keys/key-problem.ts';
import { countersAt, countersBefore } from '../../src/quota/counters.ts';
import { createUsageBook, type KeyUsage, type UsageBook } from '../../src/quota/usage-book.ts';
import type { AuditNote, KeyStore } from '../../src/stores/key-store.ts';
import type { Ledger } from '../../src/stores/ledger.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { StoreUnavailable, Unreadable } from '../../src/stores/store-unavailable.ts';
import { aKey, aNote } from '../helpers/a-key.ts';
import { aPlan, aQuota } from '../helpers/a-plan.ts';
import { aDraw, someUnits } from '../helpers/ledger-orders.ts';
import { createMemoryLedger } from '../helpers/memory-ledger.ts';
import { spoilKey } from '../helpers/spoil-key.ts';
import { ownDatabase } from '../helpers/sqlite-file.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const dayMs = 86_400_000;
const plans = new Map([['free', { name: 'free', ...aPlan({ quotas: [aQuota(7)] }) }]]);

test('the usage of all keys is listed page by page: those of the file, then those of the store', async (t) => {
  const { store } = ownDatabase(t);
  const stored = ['s1', 's2', 's3', 's4', 's5'];
  for (const id of stored) {
    const to = aKey({
      id,
      plan: id === 's2' ? 'gone' : 'free',
      revokedAt: id === 's3' ? 1 : undefined,
      secrets: [],
    });
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  const keys = ['z', 'a', 'm'].map(keyOf);
  const book = createUsageBook({ config: { keys, plans }, store });

  for (const limit of [1, 2, 3, 4, 8, 500]) {
    const listed = (await listAll(book, limit)).map(
      ({ key, quotas }) => `${key} ${quotas.map((quota) => quota.limit).join()}`,
    );
    assert.deepEqual(listed, ['z 7', 'a 7', 'm 7', 's1 7', 's2 ', 's4 7', 's5 7'], `${limit} a page`);
  }
  await assert.rejects(book.list({ cursor: 'no such cursor', limit: 1 }), KeyProblem);
  await assert.rejects(book.read('s2'), /the configuration has no plan gone, which key s2 has/);
  await assert.rejects(book.read('nobody'), { message: 'there is no such key' }, 'no list of some of them');
});

test('whose usage it is stands in lists, in what is read and in what was set', async (t) => {
  const { store } = ownDatabase(t);
  for (const [id, plan] of [
    ['s1', 'free'],
    ['s2', 'gone'],
  ] as const) {
    const to = aKey({ id, plan, owner: 'Müller', secrets: [] });
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  const keys = [keyOf('none'), { ...keyOf('file'), owner: 'acme' }];
  const book = createUsageBook({ config: { keys, plans }, store });
  const listed = (await listAll(book, 9)).map(({ key, owner }) => `${key} ${owner}`);
  assert.deepEqual(listed, ['none ', 'file acme', 's1 Müller', 's2 Müller']);
  assert.equal((await book.read('s1')).owner, 'Müller');
  assert.equal((await book.set(await book.choose('file', undefined), 1, by)).owner, 'acme');
});

test('a long page leaves no key out', async () => {
  const keys = Array.from({ length: 100 }, (_, at) => keyOf(`k${at}`));
  const store = {
    keys: noKeys,
    ledger: createMemoryLedger({ now: Date.now }),
  };
  const { items } = await createUsageBook({ config: { keys, plans }, store }).list({
    cursor: undefined,
    limit: 500,
  });
  assert.deepEqual(
    items.map(({ key }) => key),
    keys.map(({ id }) => id),
  );
});

test('a key that is in the file and in the store is listed once, whatever the pages are', async (t) => {
  const { store } = ownDatabase(t);
  for (const id of ['b', 'c', 'd', 'm', 'x', 'zz']) {
    const to = aKey({ id, plan: 'free', secrets: [] });
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  const keys = ['zz', 'file', 'd', 'c'].map(keyOf);
  const book = createUsageBook({ config: { keys, plans }, store });
  for (const limit of [1, 2, 3, 4, 5, 6, 500]) {
    const listed = (await listAll(book, limit)).map(({ key }) => key);
    assert.deepEqual(listed, ['zz', 'file', 'd', 'c', 'b', 'm', 'x'], `${limit} a page`);
  }
});

test('a key whose record or usage cannot be read is named, and all others are listed', async (t) => {
  const at = parseStoreAddress(`sqlite:${tempFolder(t)}/usage.db`);
  const store = await openStore(at);
  t.after(() => store.close());
  for (const id of ['b', 'c', 'd', 'e']) {
    const to = aKey({ id, plan: 'free', secrets: [] });
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  await spoilKey(at, 'c', { how: 'damaged' });
  const ledger = {
    ...store.ledger,
    readUsage: async (...[id, counters]: Parameters<typeof store.ledger.readUsage>) => {
      if (id === 'd') throw new Unreadable('a counter that is no number');
      return store.ledger.readUsage(id, counters);
    },
  };
  const book = createUsageBook({ config: { keys: [keyOf('a')], plans }, store: { ...store, ledger } });
  const page = await book.list({ cursor: undefined, limit: 9 });
  assert.deepEqual(
    page.items.map(({ key }) => key),
    ['a', 'b', 'e'],
  );
  assert.deepEqual([page.unreadable, page.next], [['c', 'd'], null]);
  for (const limit of [1, 2, 3]) {
    assert.deepEqual(
      (await listAll(book, limit)).map(({ key }) => key),
      ['a', 'b', 'e'],
    );
  }
});

test('a key with a quota in a time zone that is not known here is named, and all others are listed', async (t) => {
  const { store } = ownDatabase(t);
  const quotas = [{ name: 'far', limit: 1, per: 'day', timezone: 'Nowhere/Atlantis' }];
  for (const to of [aKey({ id: 'b', plan: 'free', quotas }), aKey({ id: 'c', plan: 'free' })]) {
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  const book = createUsageBook({ config: { keys: [], plans }, store });
  const { items, unreadable } = await book.list({ cursor: undefined, limit: 9 });
  assert.deepEqual([items.map(({ key }) => key), unreadable], [['c'], ['b']]);
  await assert.rejects(book.read('b'), /the time zone Nowhere\/Atlantis of a quota is not known/);
});

test('a list that the store cannot give is refused, whatever it gave of it', async (t) => {
  const { store } = ownDatabase(t);
  const gone = new StoreUnavailable('gone', { mayHaveHappened: false });
  const ledger = { ...store.ledger, readUsage: () => Promise.reject(gone) };
  const book = createUsageBook({ config: { keys: [keyOf('a')], plans }, store: { ...store, ledger } });
  await assert.rejects(book.list({ cursor: undefined, limit: 9 }), gone);
});

test('of a key without quotas nothing can be set, and that is told', async (t) => {
  const { store } = ownDatabase(t);
  const none = new Map([['free', { name: 'free', ...aPlan({ quotas: [] }) }]]);
  const book = createUsageBook({ config: { keys: [keyOf('a')], plans: none }, store });
  const why = /plan free of key a has no quotas/;
  await assert.rejects(book.choose('a', undefined), why);
});

test('usage is read and set in the period of the store, whatever the clock here shows', async (t) => {
  const { store } = ownDatabase(t);
  const now = Date.now() + 400 * 24 * 3_600_000;
  const ledger = createMemoryLedger({ now: () => now });
  const book = createUsageBook({ config: { keys: [keyOf('ada')], plans }, store: { ...store, ledger } });
  const counters = countersAt(plans.get('free')!, now);
  await ledger.draw(aDraw({ keyId: 'ada', counters, need: 3, want: 3 }));
  assert.equal((await book.read('ada')).quotas[0]?.used, 3);
  await book.set(await book.choose('ada', undefined), 2, by);
  assert.deepEqual(await ledger.readUsage('ada', counters), [{ used: 5, leased: 3 }]);
});

test('what was used in the period before is told, of keys that were revoked since too', async (t) => {
  const store = await openStore(parseStoreAddress(`sqlite:${tempFolder(t)}/usage.db`));
  t.after(() => store.close());
  const daily = new Map([
    ['free', { name: 'free', ...aPlan({ quotas: [aQuota(7, 'day'), aQuota(9, 'lifetime')] }) }],
  ]);
  const to = aKey({ id: 'left', plan: 'free', revokedAt: 1 });
  await store.keys.changeKey({ from: undefined, to, note: aNote() });
  const book = createUsageBook({ config: { keys: [keyOf('ada')], plans: daily }, store });
  const at = await store.ledger.readTime('ada');
  await store.ledger.charge(someUnits({ keyId: 'ada', counters: countersAt(daily.get('free')!, at) }));
  for (const keyId of ['ada', 'left'])
    await store.ledger.charge(
      someUnits({ keyId, counters: countersBefore(daily.get('free')!, at), units: 5 }),
    );

  const { items } = await book.list({ ended: true, cursor: undefined, limit: 9 });
  const told = items.map(({ key, quotas }) => [key, ...quotas.map(({ name, used }) => `${name} ${used}`)]);
  assert.deepEqual(told, [
    ['ada', 'day 5'],
    ['left', 'day 5'],
  ]);
  const [day] = (await book.read('ada', { ended: true })).quotas;
  assert.equal(day?.resetsAt, new Date(Math.floor(at / dayMs) * dayMs).toISOString());
});

test('of a quota whose limit was lowered below what is used nothing remains', async (t) => {
  const { store } = ownDatabase(t);
  const lowered = new Map([['free', { name: 'free', ...aPlan({ quotas: [aQuota(2)] }) }]]);
  const book = createUsageBook({ config: { keys: [keyOf('ada')], plans: lowered }, store });
  const counters = countersAt(plans.get('free')!, await store.ledger.readTime('ada'));
  await store.ledger.charge(someUnits({ keyId: 'ada', counters, units: 5 }));
  const [quota] = (await book.read('ada')).quotas;
  assert.deepEqual([quota?.limit, quota?.used, quota?.remaining], [2, 5, 0]);
});

test('usage that was set is told as the store had it then, and the store is asked for nothing after that', async () => {
  let isGone = false;
  const ledger = createMemoryLedger({
    now: () => 0,
    before: () => {
      if (isGone) throw new StoreUnavailable('gone', { mayHaveHappened: false });
    },
    after: (step) => void (isGone = step === 'setUsage'),
  });
  const book = openBook(ledger, withTwoQuotas);
  const counters = countersAt(withTwoQuotas, 0);
  await ledger.draw(aDraw({ keyId: 'ada', counters, need: 3, want: 3 }));
  const { quotas } = await book.set(await book.choose('ada', 'other'), 12, by);
  assert.deepEqual(
    quotas.map(({ name, limit, used, leased, remaining }) => ({ name, limit, used, leased, remaining })),
    [{ name: 'other', limit: 9, used: 15, leased: 3, remaining: 0 }],
  );
});

test('usage that the store refuses to set is not told as set', async () => {
  const gone = new StoreUnavailable('gone', { mayHaveHappened: true });
  const ledger = { ...createMemoryLedger({ now: () => 0 }), setUsage: () => Promise.reject(gone) };
  const book = openBook(ledger);
  await assert.rejects(book.set(await book.choose('ada', undefined), 0, by), gone);
});

test('what was chosen in one period is not set in the next, nor in that which has ended', async () => {
  let now = 0;
  const ledger = createMemoryLedger({ now: () => now });
  const book = openBook(ledger);
  const chosen = await book.choose('ada', undefined);
  await book.set(chosen, 3, by);
  now = 40 * dayMs;
  const why = new KeyProblem('conflict', 'a period has ended meanwhile, and nothing was set: ask again');
  await assert.rejects(book.set(chosen, 5, by), why);
  assert.equal((await book.read('ada')).quotas[0]?.used, 0);
  assert.equal((await ledger.readUsage('ada', chosen.counters))[0]?.used, 3);
});

test('who set usage from what to what is in the audit log before it is done, or it is not done', async () => {
  const notes: AuditNote[] = [];
  let full = false;
  const keys = {
    ...noKeys,
    addAudit: async (note: AuditNote) => {
      if (full) throw new StoreUnavailable('full', { mayHaveHappened: false });
      notes.push(note);
    },
  };
  const ledger = createMemoryLedger({
    now: () => 0,
    before: (step) => assert.ok(step !== 'setUsage' || notes.length > 0),
  });
  const book = openBook(ledger, withTwoQuotas, keys);
  const counters = countersAt(withTwoQuotas, 0);
  await ledger.draw(aDraw({ keyId: 'ada', counters, need: 3, want: 3, held: -1 }));
  await book.set(await book.choose('ada', undefined), 7, by);
  const about = { actor: 'tester', action: 'set_usage', keyId: 'ada' };
  assert.deepEqual(notes, [{ ...about, changes: { month: [1, 7], other: [1, 7] } }], 'two are held');
  full = true;
  await assert.rejects(book.set(await book.choose('ada', undefined), 0, by), /full/);
  assert.equal((await book.read('ada')).quotas[0]?.used, 9);

  const spoilt = { ...ledger, readUsage: () => Promise.reject(new Unreadable('no number')) };
  full = false;
  const mended = openBook(spoilt, undefined, keys);
  await mended.set(await mended.choose('ada', undefined), 0, by);
  assert.deepEqual(notes.at(-1), { ...about, changes: { month: [null, 0] } }, 'what it was nobody knows');
});

const by = { actor: 'tester' };
const noKeys = {
  listKeys: async () => [],
  readKey: async () => undefined,
  addAudit: async () => undefined,
};
const withTwoQuotas = { name: 'free', ...aPlan({ quotas: [aQuota(7), { ...aQuota(9), name: 'other' }] }) };

/** The book of the key ada. */
function openBook(
  ledger: Pick<Ledger, 'readTime' | 'readUsage' | 'setUsage'>,
  plan: PlanRule = plans.get('free')!,
  keys: Pick<KeyStore, 'listKeys' | 'readKey' | 'addAudit'> = noKeys,
): UsageBook {
  const config = { keys: [keyOf('ada')], plans: new Map([['free', { ...plan, name: 'free' }]]) };
  return createUsageBook({ config, store: { keys, ledger } });
}

async function listAll(book: UsageBook, limit: number): Promise<KeyUsage[]> {
  const listed: KeyUsage[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 20; pages += 1) {
    const { items, next } = await book.list({ cursor, limit });
    assert.ok(items.length <= limit);
    listed.push(...items);
    if (next === null) break;
    cursor = next;
  }
  return listed;
}

function keyOf(id: string) {
  return { id, plan: 'free', owner: '', digest: '', enabled: true, expiresAt: undefined };
}
