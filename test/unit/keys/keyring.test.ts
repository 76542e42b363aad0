import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StaticKey } from '../../../src/config/config.ts';
import type { FoundKey } from '../../../src/keys/found-key.ts';
import { unknownKeysMax } from '../../../src/keys/key-cache.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { createKeyring, type KeyringRules } from '../../../src/keys/keyring.ts';
import type { KeyEvent, KeyRecord } from '../../../src/stores/key-store.ts';
import { StoreUnavailable } from '../../../src/stores/store-unavailable.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';

const secret = 'a-foreign-secret';
const usual: KeyringRules = {
  staticKeys: [],
  format: createKeyFormat('gh'),
  cacheForMs: 60_000,
  graceOnOutageMs: 900_000,
};

function scene(rules: Partial<KeyringRules> = {}) {
  const records = new Map<string, KeyRecord>();
  const listeners: ((event: KeyEvent) => void)[] = [];
  const state = { now: 1_000_000, asked: 0, isAway: false, stoodStill: false, gate: Promise.resolve() };
  const ring = createKeyring({
    mono: () => state.now,
    stoodStill() {
      const stoodStill = state.stoodStill;
      state.stoodStill = false;
      return stoodStill;
    },
    store: {
      async findKey(digest) {
        state.asked += 1;
        const found = records.get(digest);
        await state.gate;
        if (state.isAway) throw new StoreUnavailable('away', { mayHaveHappened: false });
        return found;
      },
      watch(onEvent) {
        listeners.push(onEvent);
        return () => undefined;
      },
    },
  });
  /** As most of the keys here are not mistyped. */
  const under = (others: Partial<KeyringRules>) => {
    const findKey = ring.under({ ...usual, ...others });
    return (text: string) => findKey(text) as FoundKey | undefined | Promise<FoundKey | undefined>;
  };
  const put = (record: KeyRecord): void => {
    for (const { digest } of record.secrets) records.set(digest, record);
  };
  /** Has answers of the store wait until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    state.gate = promise;
    return resolve;
  };
  return {
    under,
    hold,
    find: under(rules),
    state,
    put,
    records,
    tell: (event: KeyEvent) => listeners.forEach((listener) => listener(event)),
  };
}

const key = aKey({ id: 'k', secrets: [aSecret({ digest: digestOf(secret) })] });

test('a key is looked up once, until its time in the cache is over', async () => {
  const { find, state, put } = scene();
  put(key);
  for (let round = 0; round < 3; round += 1) assert.equal((await find(secret))?.id, 'k');
  assert.equal(state.asked, 1);
  state.now += 60_000;
  await find(secret);
  assert.equal(state.asked, 2);
});

test('requests that come at the same time share one look-up', async () => {
  const { find, state, put } = scene();
  put(key);
  await Promise.all(Array.from({ length: 50 }, async () => find(secret)));
  assert.equal(state.asked, 1);
});

test('a change is asked for anew, for its key and for what was unknown, and not for others', async () => {
  const { find, state, put, tell } = scene();
  const other = aKey({ secrets: [aSecret({ digest: digestOf('other') })] });
  put(key);
  put(other);
  for (const one of [secret, 'other', 'unknown']) await find(one);
  tell({ kind: 'changed', keyId: 'k' });
  put({ ...key, enabled: false });
  for (const one of [secret, 'other', 'unknown']) await find(one);
  assert.equal(state.asked, 5);
  assert.equal((await find(secret))?.enabled, false);
  tell({ kind: 'added' });
  for (const one of [secret, 'other', 'unknown']) await find(one);
  assert.equal(state.asked, 6);
  tell({ kind: 'missed' });
  for (const one of [secret, 'other']) await find(one);
  assert.equal(state.asked, 8);
});

test('after a stand-still all is asked for anew, once, unless the store is away', async () => {
  const { find, state, put } = scene();
  put(key);
  for (const one of [secret, 'unknown']) await find(one);
  state.stoodStill = true;
  put({ ...key, enabled: false });
  for (const one of [secret, 'unknown', secret, 'unknown']) await find(one);
  assert.equal(state.asked, 4);
  assert.equal((await find(secret))?.enabled, false);
  state.stoodStill = true;
  state.isAway = true;
  assert.equal((await find(secret))?.id, 'k');
});

test('what is being asked for when the process stands still is asked for anew by who comes after it', async () => {
  const { find, state, put, hold } = scene();
  put(key);
  const resolve = hold();
  const early = find(secret);
  state.gate = Promise.resolve();
  state.stoodStill = true;
  put({ ...key, enabled: false });
  assert.equal((await find(secret))?.enabled, false);
  resolve();
  assert.equal((await early)?.enabled, true);
  assert.equal((await find(secret))?.enabled, false);
});

test('an answer from before a change is not kept after it', async () => {
  const { find, state, put, tell, hold } = scene();
  put(key);
  const resolve = hold();
  const early = find(secret);
  put({ ...key, enabled: false });
  tell({ kind: 'changed', keyId: 'k' });
  state.gate = Promise.resolve();
  const late = await find(secret);
  assert.equal(late?.enabled, false, 'who came after the change sees it');
  resolve();
  assert.equal((await early)?.enabled, true);
  assert.equal((await find(secret))?.enabled, false);
});

test('a key that was found while others changed goes on working in an outage', async () => {
  for (const kind of ['added', 'missed'] as const) {
    const { find, state, put, tell } = scene();
    put(key);
    const early = find(secret);
    tell({ kind });
    await early;
    state.isAway = true;
    assert.equal((await find(secret))?.id, 'k');
  }
});

test('while the store is away a key that was seen goes on working for the grace, even if changes were missed', async () => {
  const { find, state, put, tell } = scene();
  put(key);
  await find(secret);
  state.isAway = true;
  tell({ kind: 'missed' });
  state.now += 899_999;
  assert.equal((await find(secret))?.id, 'k');
  state.now += 1;
  await assert.rejects(async () => find(secret), StoreUnavailable);
});

test('while the store is away an unknown key is not judged, nor one that was changed', async () => {
  const { find, state, put, tell } = scene();
  put(key);
  await find(secret);
  await find('unknown');
  state.isAway = true;
  await assert.rejects(async () => find('never seen'), StoreUnavailable);
  state.now += 60_000;
  await assert.rejects(async () => find('unknown'), StoreUnavailable);
  tell({ kind: 'changed', keyId: 'k' });
  await assert.rejects(async () => find(secret), StoreUnavailable);
});

test('a key that is added while its secret is looked up is found at the next request', async () => {
  const { find, put, tell, hold } = scene();
  const resolve = hold();
  const early = find(secret);
  put(key);
  tell({ kind: 'added' });
  resolve();
  assert.equal(await early, undefined, 'it was asked for before');
  assert.equal((await find(secret))?.id, 'k');
});

test('a secret that the store has forgotten does not come back in an outage', async () => {
  const { find, state, put, records } = scene();
  put(key);
  await find(secret);
  records.clear();
  state.now += 60_000;
  assert.equal(await find(secret), undefined);
  state.isAway = true;
  state.now += 60_000;
  await assert.rejects(async () => find(secret), StoreUnavailable);
});

for (const gone of ['first', 'second', 'third']) {
  test(`a change of a key concerns all of its secrets, also when the ${gone} has gone before`, async () => {
    const { find, state, put, records, tell } = scene();
    const all = ['first', 'second', 'third'];
    put(aKey({ id: 'k', secrets: all.map((one) => aSecret({ digest: digestOf(one) })) }));
    for (const one of all) await find(one);
    records.delete(digestOf(gone));
    tell({ kind: 'missed' });
    await find(gone);
    const others = all.filter((one) => one !== gone);
    for (const one of others) await find(one);
    const { asked } = state;
    for (const one of others) await find(one);
    assert.equal(state.asked, asked, 'they are known');
    tell({ kind: 'changed', keyId: 'k' });
    for (const one of others) await find(one);
    assert.equal(state.asked, asked + 2, 'and are asked for anew');
  });
}

test('keys of the file and mistyped keys need no store', async () => {
  const { find, state } = scene({ staticKeys: [inFile('gh_demo')] });
  state.isAway = true;
  assert.equal((await find('gh_demo'))?.id, 'gh_demo');
  assert.equal(await find(`gh_${'x'.repeat(27)}_000000`), 'mistyped');
  assert.equal(state.asked, 0);
});

test('a key that is mistyped by a new prefix is not let in because it was seen before', async () => {
  const { under, put } = scene();
  const other = `other_${'x'.repeat(27)}_000000`;
  put(aKey({ id: 'k', secrets: [aSecret({ digest: digestOf(other) })] }));
  assert.equal((await under({})(other))?.id, 'k');
  assert.equal(await under({ format: createKeyFormat('other') })(other), 'mistyped');
});

test('a look-up that fails while the prefix changes fails no later request', async () => {
  const { under, find, state, put, hold } = scene();
  put(key);
  const resolve = hold();
  const before = assert.rejects(async () => find(secret), StoreUnavailable);
  const after = under({ format: createKeyFormat('other') });
  state.isAway = true;
  resolve();
  await before;
  state.isAway = false;
  assert.equal((await after(secret))?.id, 'k');
});

test('guesses do not make the cache grow without end, and push no key out', async () => {
  const { find, state, put } = scene();
  put(key);
  await find(secret);
  for (let guess = 0; guess < unknownKeysMax + 5; guess += 1) await find(`guess ${guess}`);
  const asked = state.asked;
  await find(secret);
  assert.equal(state.asked, asked);
  await find('guess 0');
  assert.equal(state.asked, asked + 1, 'the oldest guess was forgotten');
});

function inFile(id: string): StaticKey {
  return { id, plan: 'free', owner: '', digest: digestOf(id), enabled: true, expiresAt: undefined };
}

test('under other rules there are other keys of the file, and what the store said lately is known under all', async () => {
  const { under, find, state, put } = scene({ staticKeys: [inFile('before')] });
  put(aKey({ id: 'stored', secrets: [aSecret({ digest: digestOf(secret) })] }));
  await find(secret);
  const other = under({ staticKeys: [inFile('after')] });
  state.isAway = true;
  assert.equal((await other('after'))?.id, 'after');
  assert.equal((await other(secret))?.id, 'stored');
  assert.equal(state.asked, 1);
  await assert.rejects(async () => other('before'), StoreUnavailable);
  // A request that began before the reload ends as it began.
  assert.equal((await find('before'))?.id, 'before');
});
