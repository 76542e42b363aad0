import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test, type TestContext } from 'node:test';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import {
  auditEntriesMax,
  auditKeptMs,
  feedEntriesMax,
  type KeyEvent,
  type KeyRecord,
  type KeyStore,
} from '../../src/stores/key-store.ts';
import { eventsPerReading } from '../../src/stores/watch-changes.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { hearChanges } from '../helpers/hear-changes.ts';
import { openPatiently } from '../helpers/open-patiently.ts';
import { until } from '../helpers/poll.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { spoilKey } from '../helpers/spoil-key.ts';
import { sql } from '../helpers/sqlite-file.ts';
import { storeKinds, type StoreKind } from '../helpers/store-kinds.ts';

const redis = await startRedisServer({ after });

for (const { name, address } of storeKinds(redis)) {
  describe(`keys in ${name}`, () => keyRules(address));
}

function keyRules(address: StoreKind['address']): void {
  const open = async (t: TestContext, at = address(t)): Promise<KeyStore> => {
    const store = await openPatiently(t, at);
    return store.keys;
  };
  test('a key comes back as it was written, by its id and by each of its secrets', async (t) => {
    const keys = await open(t);
    const key = await create(
      keys,
      aKey({
        id: 'A.b-c_1',
        name: 'Käthe "k" \\ 名',
        owner: 'acme',
        quotas: [{ name: 'monthly', limit: 5, per: 'month', timezone: 'UTC' }],
        scopes: ['names', '/v1/*'],
        labels: { team: 'x', __proto__x: 'y' },
        networks: ['10.0.0.0/8', '::1'],
        notBefore: 5,
        expiresAt: 8.64e15,
        enabled: false,
        secrets: [aSecret(), aSecret({ number: 2, start: '', expiresAt: 17 })],
        requests: [{ name: 'order-1', content: 'c' }],
      }),
    );
    assert.deepEqual((await keys.readKey(key.id))?.record, key);
    for (const { digest } of key.secrets) assert.deepEqual(await keys.findKey(digest), key);
    assert.equal(await keys.findKey(digestOf('other')), undefined);
    assert.equal(await keys.readKey('other'), undefined);
  });

  test('a change replaces secrets, and one made from an outdated version does nothing', async (t) => {
    const keys = await open(t);
    const key = await create(keys, aKey());
    const next = aSecret({ number: 2 });
    assert.equal(await change(keys, key, { secrets: [next] }), 'done');
    assert.equal(await keys.findKey(key.secrets[0]!.digest), undefined);
    assert.equal((await keys.findKey(next.digest))?.version, 2);
    assert.equal(await change(keys, key, { plan: 'paid' }), 'outdated');
    assert.equal((await keys.readKey(key.id))?.record.plan, 'free');
    assert.equal(await change(keys, aKey(), {}), 'missing');
    assert.equal(await keys.changeKey({ from: undefined, to: key, note: aNote() }), 'exists');
    const often = await create(keys, aKey({ version: 12 }));
    assert.equal(await change(keys, { ...often, version: 1 }, {}), 'outdated');
    assert.equal(await change(keys, often, {}), 'done');
  });

  test('of changes made at the same time exactly one happens', async (t) => {
    const keys = await open(t);
    const key = await create(keys, aKey());
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => change(keys, key, { name: `n${at}` })),
    );
    assert.equal(answers.filter((answer) => answer === 'done').length, 1);
    assert.equal((await keys.readKey(key.id))?.record.version, 2);
  });

  test('a secret that a key has or had is never given to another', async (t) => {
    const keys = await open(t);
    const key = await create(keys, aKey());
    const other = await create(keys, aKey());
    const thief = aKey({ secrets: key.secrets });
    assert.equal(await keys.changeKey({ from: undefined, to: thief, note: aNote() }), 'taken');
    assert.equal(await change(keys, other, { secrets: [...other.secrets, ...key.secrets] }), 'taken');
    assert.equal(await keys.readKey(thief.id), undefined);
    assert.deepEqual(await keys.findKey(key.secrets[0]!.digest), key);
    assert.equal(await change(keys, key, { secrets: [aSecret()] }), 'done');
    assert.equal(await keys.changeKey({ from: undefined, to: thief, note: aNote() }), 'taken');
    assert.deepEqual(await keys.addKeys([thief], aNote()), [{ kind: 'known', id: key.id }]);
    assert.equal(await keys.findKey(key.secrets[0]!.digest), undefined);
  });

  test('many keys are added at once, and those that are there stay as they are', async (t) => {
    const keys = await open(t);
    const there = await create(keys, aKey({ plan: 'paid' }));
    const fresh = [aKey(), aKey()];
    const answers = await keys.addKeys(
      [fresh[0]!, aKey({ secrets: there.secrets }), aKey({ id: there.id }), fresh[1]!],
      aNote({ action: 'import' }),
    );
    assert.deepEqual(answers, [
      { kind: 'added' },
      { kind: 'known', id: there.id },
      { kind: 'id_taken' },
      { kind: 'added' },
    ]);
    for (const key of fresh) assert.deepEqual(await keys.findKey(key.secrets[0]!.digest), key);
    assert.equal((await keys.readKey(there.id))?.record.plan, 'paid');
    const again = await keys.addKeys([...fresh, there], aNote());
    assert.deepEqual(
      again.map(({ kind }) => kind),
      ['known', 'known', 'known'],
    );
    assert.equal((await keys.listAudit(undefined, 1))[0]?.found?.keys, 2, 'nothing added is no entry');
  });

  test('pages of keys follow each other in the order of ids', async (t) => {
    const keys = await open(t);
    const ids = ['a', 'B', 'b-1', 'b', 'c', 'a.0'];
    const imported = ids.slice(0, 3).map((id) => aKey({ id }));
    await keys.addKeys(imported, aNote());
    for (const id of ids.slice(3)) await create(keys, aKey({ id }));
    const seen: string[] = [];
    for (let pages = 0; pages < 3; pages += 1)
      seen.push(...(await keys.listKeys(seen.at(-1) ?? '', 4)).map(({ id }) => id));
    assert.deepEqual(seen, ids.toSorted());
  });

  test('a record that is damaged or gone is named, and ends neither a list nor a page of it', async (t) => {
    const at = address(t);
    const keys = await open(t, at);
    const [damaged, gone] = [aKey({ id: 'b' }), aKey({ id: 'c' })];
    for (const key of [aKey({ id: 'a' }), damaged, gone, aKey({ id: 'd' })]) await create(keys, key);
    await spoilKey(at, 'b', { how: 'damaged', redis });
    await spoilKey(at, 'c', { how: 'gone', redis });
    const all = await keys.listKeys('', 9);
    assert.deepEqual(
      all.flatMap(({ found }) => found?.record.id ?? []),
      ['a', 'd'],
    );
    // The list of SQLite is made of the records themselves.
    const lost = all.flatMap(({ id, found }) => (found === undefined ? id : []));
    assert.deepEqual(lost, at.kind === 'sqlite' ? ['b'] : ['b', 'c']);
    assert.equal((await keys.listKeys('a', 1))[0]?.id, 'b');
    const find = ({ secrets: [secret] }: KeyRecord) => keys.findKey(secret?.digest ?? '');
    for (const read of [() => keys.readKey('b'), () => find(damaged)])
      await assert.rejects(read, /^StoreUnavailable: the record of key b in the store cannot be read$/);
    for (const read of [() => keys.readKey('c'), () => find(gone)]) assert.equal(await read(), undefined);
    const again = [damaged, gone].map(({ secrets }) => aKey({ secrets }));
    assert.deepEqual(await keys.addKeys(again, aNote()), [
      { kind: 'known', id: 'b' },
      { kind: 'lost', id: 'c' },
    ]);
  });

  test('uses are kept for each secret, and are no change of the key', async (t) => {
    const keys = await open(t);
    const key = await create(keys, aKey({ secrets: [aSecret(), aSecret({ number: 2 })] }));
    for (const at of [9, 77]) await keys.noteUses([{ keyId: key.id, secretNumber: 2, at }]);
    await keys.noteUses([]);
    // Written later by another gateway.
    await keys.noteUses([{ keyId: key.id, secretNumber: 2, at: 76 }]);
    // No date can hold it, so it tells nothing.
    await keys.noteUses([{ keyId: key.id, secretNumber: 1, at: 8.64e15 + 1 }]);
    const known = await keys.readKey(key.id);
    assert.deepEqual([...(known?.usedAt ?? [])], [[2, 77]]);
    assert.equal(known?.record.version, 1);
    assert.deepEqual([...(await keys.listKeys('', 9))[0]!.found!.usedAt], [[2, 77]]);
  });

  test('the uses of the latest secrets are known, also of those that the key no longer has', async (t) => {
    const keys = await open(t);
    const key = await create(keys, aKey());
    assert.equal(await change(keys, key, { secrets: [aSecret({ number: 17 })] }), 'done');
    await keys.noteUses(
      [1, 2, 16].map((secretNumber) => ({ keyId: key.id, secretNumber, at: secretNumber })),
    );
    const used = new Map([2, 16].map((secret) => [secret, secret]));
    assert.deepEqual(new Map((await keys.readKey(key.id))!.usedAt), used);
    assert.deepEqual(new Map((await keys.listKeys('', 9))[0]!.found!.usedAt), used);
  });

  test('the audit log tells every change, newest first, in pages', async (t) => {
    const keys = await open(t);
    const before = Date.now();
    const key = await create(keys, aKey());
    for (let round = 0; round < 4; round += 1) {
      const from = (await keys.readKey(key.id))!.record;
      const note = aNote({ action: `step ${round}`, keyId: key.id, changes: { plan: ['free', round] } });
      await keys.changeKey({ from, to: { ...from, version: from.version + 1 }, note });
    }
    const first = await keys.listAudit(undefined, 3);
    const second = await keys.listAudit(first.at(-1)?.id, 3);
    assert.deepEqual(
      [...first, ...second].map(({ found }) => found?.action),
      ['step 3', 'step 2', 'step 1', 'step 0', 'create'],
    );
    const { id: _id, at, ...rest } = first[0]!.found!;
    assert.deepEqual(rest, {
      actor: 'tester',
      action: 'step 3',
      keyId: key.id,
      changes: { plan: ['free', 3] },
      keys: 1,
    });
    assert.ok(at >= before - 1 && at <= Date.now() + 1);
  });

  test('an entry of the audit log can be about what is no change of a key, and nobody hears of one', async (t) => {
    const keys = await open(t);
    const heard = await hearChanges(t, keys);
    const note = aNote({ action: 'set_usage', keyId: 'in the file', changes: { monthly: [3, 0] } });
    await keys.addAudit(note);
    const key = await create(keys, aKey());
    const [, entry] = await keys.listAudit(undefined, 9);
    const { id: _id, at: _at, ...rest } = entry!.found!;
    assert.deepEqual(rest, { ...note, keys: 1 });
    assert.equal((await keys.readKey(key.id))?.record.version, 1);
    await until(() => heard.length > 0);
    assert.deepEqual(heard, [{ kind: 'added' }]);
  });

  test('another process hears of every change within a second', async (t) => {
    const at = address(t);
    const writer = await open(t, at);
    const reader = await open(t, at);
    const heard = await hearChanges(t, reader);
    await changesAreHeard(writer, heard);
    assert.ok(heard.every(({ kind }) => kind !== 'missed'));
    heard.length = 0;
    await writer.addKeys([aKey()], aNote());
    await until(() => heard.length > 0);
    assert.deepEqual(heard, [{ kind: 'added' }]);
  });

  test('the process that makes a change hears of it at once', async (t) => {
    const keys = await open(t, address(t));
    t.mock.timers.enable({ apis: ['setInterval'] }); // nothing is read by the clock
    const heard = await hearChanges(t, keys);
    await changesAreHeard(keys, heard);
  });

  test('whoever comes back after thousands of changes hears of all of them by one look', async (t) => {
    const at = address(t);
    const keys = await open(t, at);
    await create(keys, aKey());
    t.mock.timers.enable({ apis: ['setInterval'] });
    const heard = await hearChanges(t, keys);
    const changes = 3.5 * eventsPerReading;
    if (at.kind === 'sqlite') sql(at.path, fillFeed(changes)).close();
    else await redis.say('EVAL', fillStream, 1, `${at.prefix}{keys}:changes`, changes);
    t.mock.timers.tick(400);
    await until(() => heard.length === changes, { what: 'all are heard' });
    assert.ok(heard.every(({ kind }) => kind === 'changed'));
  });

  test('a feed that has lost what it held says that changes were missed', async (t) => {
    const at = address(t);
    const [writer, reader] = [await open(t, at), await open(t, at)];
    for (let round = 0; round < 3; round += 1) await create(writer, aKey());
    t.mock.timers.enable({ apis: ['setInterval'] });
    const heard = await hearChanges(t, reader);
    await create(writer, aKey());
    if (at.kind === 'sqlite') sql(at.path, 'DELETE FROM key_changes').close();
    else await redis.say('DEL', `${at.prefix}{keys}:changes`);
    // Places in Redis are told by the time, and within one millisecond a new feed would begin at the place of the last.
    const from = Date.now();
    await until(() => Date.now() > from + 1);
    await create(writer, aKey());
    t.mock.timers.tick(400);
    await until(() => heard.some(({ kind }) => kind === 'missed'));
  });
}

async function create(keys: KeyStore, to: KeyRecord): Promise<KeyRecord> {
  assert.equal(await keys.changeKey({ from: undefined, to, note: aNote({ keyId: to.id }) }), 'done');
  return to;
}

/** That a key was made, and that it was changed. */
async function changesAreHeard(writer: KeyStore, heard: readonly KeyEvent[]): Promise<void> {
  const key = await create(writer, aKey());
  await until(() => heard.some(({ kind }) => kind === 'added'));
  await change(writer, key, { enabled: false });
  await until(() => heard.some((event) => event.kind === 'changed' && event.keyId === key.id));
}

function change(keys: KeyStore, from: KeyRecord, over: Partial<KeyRecord>) {
  return keys.changeKey({
    from,
    to: { ...from, version: from.version + 1, ...over },
    note: aNote({ action: 'update', keyId: from.id }),
  });
}

const fillStream = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'key', 'k') end";

const fillFrom = "for at = 1, ARGV[1] do redis.call('XADD', KEYS[1], ARGV[2] + at .. '-1', 'key', 'k') end";

const fillFeed = (changes: number): string => `
  WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${changes})
  INSERT INTO key_changes (key) SELECT 'k' FROM counted`;

test('the audit log and the feed lose in Redis, too, what is too old and what is too much, whoever adds to them', async (t) => {
  const prefix = `${randomUUID()}:`;
  const { keys } = await openPatiently(t, parseStoreAddress(`${redis.url}?prefix=${prefix}`));
  const audit = `${prefix}{keys}:audit`;
  const feed = `${prefix}{keys}:changes`;
  const fill = (name: string, script: string, count: number) => redis.say('EVAL', script, 1, name, count);
  const excessOf = async (name: string, max: number) =>
    Number((await redis.say('XLEN', name)).slice(1)) - max;
  // Redis drops entries by the hundred.
  const inexact = 100;
  await fill(audit, fillStream, auditEntriesMax);
  await fill(feed, fillStream, feedEntriesMax);
  const additions = {
    change: () => create(keys, aKey()),
    import: () => keys.addKeys([aKey()], aNote()),
    note: () => keys.addAudit(aNote()),
  };
  for (const [what, add] of Object.entries(additions)) {
    for (const name of [audit, feed]) await fill(name, fillStream, 3 * inexact);
    await add();
    assert.ok((await excessOf(audit, auditEntriesMax)) < inexact, what);
    if (what !== 'note') assert.ok((await excessOf(feed, feedEntriesMax)) < inexact, what);
  }
  const minute = 60_000;
  for (const [what, add] of Object.entries(additions)) {
    await redis.say('DEL', audit);
    const oldest = Date.now() - auditKeptMs;
    for (const from of [oldest - minute, oldest + minute])
      await redis.say('EVAL', fillFrom, 1, audit, 3 * inexact, from);
    await add();
    const young = (await excessOf(audit, 0)) - 3 * inexact;
    assert.ok(young > 0 && young < inexact, what);
  }
});

test('a killed listening connection delays a change by no more than the poll', async (t) => {
  const at = parseStoreAddress(`${redis.url}?prefix=${randomUUID()}:`);
  const open = () => openPatiently(t, at);
  const [writer, reader] = await Promise.all([open(), open()]);
  const heard = await hearChanges(t, reader.keys);
  for (let round = 0; round < 5; round += 1) {
    heard.length = 0;
    await redis.say('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const to = aKey();
    await writer.keys.changeKey({ from: undefined, to, note: aNote() });
    await until(() => heard.length > 0);
  }
});

test('what changed while nobody listened is heard as soon as somebody listens again', async (t) => {
  const { keys } = await openPatiently(t, parseStoreAddress(`${redis.url}?prefix=${randomUUID()}:`));
  t.mock.timers.enable({ apis: ['setInterval'] }); // nothing is read by the clock
  const heard = await hearChanges(t, keys);
  for (let round = 0; round < 5; round += 1) {
    await redis.say('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const key = await create(keys, aKey());
    await change(keys, key, { enabled: false });
    await until(() => heard.some((event) => event.kind === 'changed' && event.keyId === key.id));
  }
});

test('a feed that is emptied before each reading hides no change and is told of once, and one of a store without keys is quiet', async (t) => {
  const prefix = `${randomUUID()}:`;
  let told = 0;
  const onSetBack = (): void => void (told += 1);
  const { keys } = await openPatiently(t, parseStoreAddress(`${redis.url}?prefix=${prefix}`), { onSetBack });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const heard = await hearChanges(t, keys);
  const feed = `${prefix}{keys}:changes`;
  const look = async (): Promise<void> => {
    t.mock.timers.tick(400);
    // What is asked after it is answered after it.
    await keys.readKey('other');
    await keys.readKey('other');
  };
  await look();
  assert.deepEqual(heard, [], 'there is nothing to hear of');
  // The first key of all, and the feed is empty again, in one step.
  await redis.say('EVAL', addAndEmpty, 2, feed, `${prefix}{keys}:ids`);
  await look();
  await until(() => heard.some(({ kind }) => kind === 'missed'));
  await create(keys, aKey());
  for (const empty of [
    ['DEL', feed],
    ['XTRIM', feed, 'MAXLEN', 0],
  ]) {
    await look();
    heard.length = 0;
    // A change, and the feed is empty again, in one step.
    await redis.say(
      'EVAL',
      "redis.call('XADD', KEYS[1], '*', 'key', 'k') redis.call(unpack(ARGV))",
      1,
      feed,
      ...empty,
    );
    await look();
    await until(() => heard.some(({ kind }) => kind === 'missed'));
  }
  heard.length = 0;
  // The same, and another change comes after it.
  await redis.say(
    'EVAL',
    "for at = 1, 2 do redis.call('DEL', KEYS[1]) redis.call('XADD', KEYS[1], '*', 'key', 'k' .. at) end",
    1,
    feed,
  );
  await look();
  await until(() => heard.length > 0, { within: 20_000 });
  assert.deepEqual(heard, [{ kind: 'missed' }]);
  assert.equal(told, 1);
});

const addAndEmpty = `redis.call('XADD', KEYS[1], '*', 'key', '') redis.call('ZADD', KEYS[2], 0, 'first')
  redis.call('DEL', KEYS[1])`;

test('looking up unknown keys writes nothing into the store', async (t) => {
  const prefix = randomUUID();
  const store = await openPatiently(t, parseStoreAddress(`${redis.url}?prefix=${prefix}:`));
  for (let round = 0; round < 50; round += 1) await store.keys.findKey(digestOf(String(round)));
  assert.equal(await redis.say('KEYS', `${prefix}*`), '*0\r\n');
});
