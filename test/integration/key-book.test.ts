import assert from 'node:assert/strict';
import { after, describe, test, type TestContext } from 'node:test';
import { exportKey } from '../../src/keys/export-key.ts';
import type { ImportLine, ImportOptions } from '../../src/keys/imports/import-keys.ts';
import { createKeyBook, overlapMsMax, type KeyBook } from '../../src/keys/key-book.ts';
import type { WrittenFields } from '../../src/keys/key-fields.ts';
import { createKeyFormat } from '../../src/keys/key-format.ts';
import { BrokenFile, KeyProblem } from '../../src/keys/key-problem.ts';
import type { KeyRules } from '../../src/keys/key-rules.ts';
import type { KeyStore } from '../../src/stores/key-store.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { digestOf } from '../helpers/a-key.ts';
import { aPlan, aQuota } from '../helpers/a-plan.ts';
import { openPatiently } from '../helpers/open-patiently.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { spoilKey } from '../helpers/spoil-key.ts';
import { ownDatabase } from '../helpers/sqlite-file.ts';
import { storeKinds, type StoreKind } from '../helpers/store-kinds.ts';

const redis = await startRedisServer({ after });
const by = { actor: 'ada' };
const format = createKeyFormat('gh');
const rules: KeyRules = {
  format,
  plans: new Map([
    ['free', aPlan({ quotas: [aQuota(100)] })],
    ['paid', aPlan({ rate: { limit: 5, perMs: 1000, burst: 5 } })],
  ]),
  routes: [
    { name: 'names', path: '/v1/name' },
    { name: '/v1/voice/*', path: '/v1/voice/*' },
  ],
  staticKeys: ['other', 'demo'].map((id) => ({
    id,
    plan: 'free',
    owner: '',
    digest: digestOf(`k-${id}`),
    enabled: true,
    expiresAt: undefined,
  })),
};

for (const { name, address } of storeKinds(redis)) {
  describe(`the key book on ${name}`, () => bookRules(address));
}

// That a change made from an outdated version does nothing is held by key-store.test.ts, for each kind of store.
test('a key is ended however busy others are changing it, and who never gets to it is told', async (t) => {
  const { store } = ownDatabase(t);
  const rival = createKeyBook({ store: store.keys, rules, now: Date.now });
  let changes = 0;
  let changesMax = 0;
  const changeKey: typeof store.keys.changeKey = async (change) => {
    if (changes < changesMax) await rival.update(change.to.id, { name: `rival ${(changes += 1)}` }, by);
    return store.keys.changeKey(change);
  };
  const book = createKeyBook({ store: { ...store.keys, changeKey }, rules, now: Date.now });
  const { key } = await book.create({ plan: 'free' }, by);
  for (const change of [
    () => book.rotate(key.id, { overlapMs: 0 }, by),
    () => book.disable(key.id, by),
    () => book.revoke(key.id, by),
  ]) {
    changesMax = changes + 40;
    await change();
    assert.equal(changes, changesMax);
  }
  assert.equal((await book.show(key.id)).state, 'revoked');
  const { key: other } = await book.create({ plan: 'free' }, by);
  changesMax = Infinity;
  await assert.rejects(book.disable(other.id, by), isProblem('conflict'));
  await assert.rejects(book.disable(other.id, { ...by, versions: [other.version] }), isProblem('outdated'));
});

test('a secret that the store will not give to a key is not told of as if it were one', async (t) => {
  const { store } = ownDatabase(t);
  const keys: KeyStore = { ...store.keys, changeKey: async () => 'taken' };
  const book = createKeyBook({ store: keys, rules, now: Date.now });
  await assert.rejects(book.create({ plan: 'free' }, by), isProblem('conflict'));
});

test('an import ends when a store that has worked stays away', async () => {
  const lost = new StoreUnavailable('away', { mayHaveHappened: true });
  let calls = 0;
  const store: Pick<KeyStore, 'addKeys'> = {
    async addKeys(records) {
      if ((calls += 1) > 1) throw lost;
      return records.map(() => ({ kind: 'added' }));
    },
  };
  const book = createKeyBook({ store: store as KeyStore, rules, now: Date.now });
  const { run, said } = importer(book);
  await assert.rejects(run(linesOfKeys(251)), lost);
  assert.deepEqual([said.added, said.refused, calls], [250, 0, 6]);
});

function bookRules(address: StoreKind['address']): void {
  /** A book on a fresh store, and others on the same, whose calls or rules are not the usual ones. */
  const open = async (t: TestContext, at = address(t)) => {
    const store = (await openPatiently(t, at)).keys;
    const clock = { now: Date.parse('2026-05-01T00:00:00Z') };
    const bookBy = (held: KeyRules, calls: Partial<KeyStore> = {}): KeyBook =>
      createKeyBook({ store: { ...store, ...calls }, rules: held, now: () => clock.now });
    return {
      book: bookBy(rules),
      clock,
      store,
      bookBy,
      bookOn: (calls: Partial<KeyStore>) => bookBy(rules, calls),
    };
  };

  test('a key is made with a secret that is told once and is found nowhere else', async (t) => {
    const { book } = await open(t);
    const { key, secret } = await book.create(
      { plan: 'free', name: 'build', owner: 'acme', labels: { team: 'x' }, scopes: ['names'] },
      by,
    );
    assert.equal(format.judge(secret), 'sound');
    assert.equal(key.state, 'good');
    assert.equal(secret.startsWith(key.secrets[0]!.start), true);
    const verdict = await book.verify(secret);
    assert.deepEqual([verdict.valid, verdict.key?.id, verdict.secret], [true, key.id, 1]);
    const everything = JSON.stringify([
      key,
      verdict,
      await book.show(key.id),
      await book.list({}),
      await book.listAudit({}),
    ]);
    assert.ok(!everything.includes(secret) && !everything.includes(digestOf(secret)));
  });

  test('no secret has the number of one before it, and the last of the others is told', async (t) => {
    const { book, clock } = await open(t);
    const { key } = await book.create({ plan: 'free' }, by);
    const hour = 3_600_000;
    const numbers: number[][] = [];
    const until: (string | null)[] = [];
    for (const overlapMs of [0, 0, 3 * hour, hour]) {
      const rotated = await book.rotate(key.id, { overlapMs }, by);
      numbers.push(rotated.key.secrets.map(({ number }) => number));
      until.push(rotated.othersUntil);
    }
    assert.deepEqual(numbers, [[2], [3], [3, 4], [3, 4, 5]]);
    assert.deepEqual(until, [null, null, '2026-05-01T03:00:00.000Z', '2026-05-01T01:00:00.000Z']);
    const last = await book.rotate(key.id, { overlapMs: 3 * hour }, by);
    assert.deepEqual(
      last.key.secrets.map(({ expiresAt }) => expiresAt?.slice(11, 13)),
      ['01', '01', '03', undefined],
      'no rotation lets a secret live longer',
    );
    assert.equal(last.othersUntil, '2026-05-01T03:00:00.000Z');
    clock.now += hour;
    for (let working = 2; working < 8; working += 1) await book.rotate(key.id, { overlapMs: hour }, by);
    const ninth = book.rotate(key.id, { overlapMs: hour }, by);
    await assert.rejects(ninth, isProblem('conflict'));
    assert.equal((await book.show(key.id)).secrets.length, 8, 'those that have expired are gone');
    const tooLong = { overlapMs: overlapMsMax + 1 };
    await assert.rejects(book.rotate(key.id, tooLong, by), isProblem('invalid'));
    const repeatable = book.rotateOnce(key.id, tooLong, by, { name: 'once', content: '' });
    await assert.rejects(repeatable, isProblem('invalid'));
  });

  test('rotation keeps the key and lets the old secret live as long as was said', async (t) => {
    const { book, clock } = await open(t);
    const first = await book.create({ plan: 'free' }, by);
    const second = await book.rotate(first.key.id, { overlapMs: 3_600_000 }, by);
    assert.equal(second.othersUntil, '2026-05-01T01:00:00.000Z');
    assert.equal(second.key.id, first.key.id);
    assert.equal((await book.verify(first.secret)).valid, true);
    clock.now += 3_599_999;
    assert.equal((await book.verify(first.secret)).valid, true);
    clock.now += 1;
    assert.equal((await book.verify(first.secret)).reason, 'secret_expired');
    assert.equal((await book.verify(second.secret)).valid, true);
    const third = await book.rotate(first.key.id, { overlapMs: 0 }, by);
    assert.equal(third.othersUntil, null);
    assert.equal((await book.verify(second.secret)).reason, 'unknown');
  });

  test('a key that is disabled, revoked, early or late is not valid, and says why to operators', async (t) => {
    const { book, clock } = await open(t);
    const { key, secret } = await book.create(
      {
        plan: 'free',
        notBefore: '2026-05-02',
        expiresAt: '2026-05-03',
        networks: ['10.0.0.0/8', '2001:db8::/32'],
      },
      by,
    );
    const reason = async (client?: string) => (await book.verify(secret, client)).reason;
    assert.equal(await reason(), 'not_yet_valid');
    clock.now = Date.parse('2026-05-02');
    assert.equal(await reason(), 'good');
    assert.equal(await reason('10.1.2.3'), 'good');
    assert.equal(await reason('2001:db8::1'), 'good');
    assert.equal(await reason('11.1.2.3'), 'wrong_network');
    assert.equal(await reason('unknown'), 'wrong_network');
    await book.disable(key.id, by);
    assert.equal(await reason(), 'disabled');
    await book.enable(key.id, by);
    clock.now = Date.parse('2026-05-03');
    assert.equal(await reason(), 'expired');
    const revoked = await book.revoke(key.id, by);
    assert.equal(await reason(), 'revoked');
    clock.now += 1;
    assert.deepEqual(await book.revoke(key.id, by), revoked);
    await assert.rejects(book.disable(key.id, by), isProblem('conflict'));
    await assert.rejects(book.enable(key.id, by), isProblem('conflict'), 'not even as it is enabled');
    await assert.rejects(book.update(key.id, { plan: 'free' }, by), isProblem('conflict'));
    await assert.rejects(book.rotate(key.id, { overlapMs: 0 }, by), isProblem('conflict'));
  });

  test('an import outlives a moment without the store, and is told at once when there is none', async (t) => {
    const { store, bookOn } = await open(t);
    const lost = new StoreUnavailable('away', { mayHaveHappened: true });
    const failing = new Set([2, 3]);
    let calls = 0;
    const { run } = importer(
      bookOn({
        async addKeys(...args) {
          calls += 1;
          const answers = await store.addKeys(...args);
          if (failing.has(calls)) throw lost;
          return answers;
        },
        async findKey(digest) {
          if (failing.has(6)) throw lost;
          return store.findKey(digest);
        },
      }),
    );
    const lines = Array.from({ length: 600 }, (_, at) => ({ plan: 'free', secret: `retried-${at}-secret` }));
    const report = await run(lines);
    assert.deepEqual([report.lines, report.added, report.skipped, calls], [600, 600, 0, 5]);
    failing.add(6);
    await assert.rejects(run(lines), lost);
    assert.equal(calls, 6);
    await assert.rejects(run([{ secret: lines[0]!.secret }]), lost);
  });

  test('what stands before the line that breaks a file off is imported', async (t) => {
    const { book } = await open(t);
    const { take, said } = importer(book);
    await assert.rejects(take(brokenOff()), /^BrokenFile: line 3 makes no sense$/);
    assert.equal(said.added, 1);
    assert.ok((await book.verify('before-the-broken-line')).valid);
  });

  test('a key of the file is judged by the file, and nothing about its secret is shown', async (t) => {
    const { bookBy } = await open(t);
    const like = format.create().slice(0, -1);
    const staticKeys = ['k-demo', like].map((secret, at) => ({
      ...rules.staticKeys[0]!,
      id: `demo-${at}`,
      digest: digestOf(secret),
    }));
    const book = bookBy({ ...rules, staticKeys });
    for (const [at, secret] of ['k-demo', like].entries()) {
      const { valid, key, secret: number } = await book.verify(secret);
      assert.deepEqual(
        [valid, key?.id, key?.createdAt, key?.secrets, number],
        [true, `demo-${at}`, null, [], null],
      );
    }
    assert.equal((await book.verify(`${like}xx`)).reason, 'mistyped');
    assert.equal((await book.verify('')).reason, 'missing');
  });

  test('who looks in the store for a key of the file is told where it stands', async (t) => {
    const { book } = await open(t);
    const inFile = { code: 'not_found', message: /^this key stands in the configuration file/ };
    await assert.rejects(book.show('demo'), inFile);
    await assert.rejects(book.revoke('other', by), inFile);
    for (const id of ['nobody', 'no id', '']) {
      await assert.rejects(book.show(id), { code: 'not_found', message: 'there is no such key' });
    }
  });

  test('an import brings many keys at once to what it says, and the last line of a key has the last word', async (t) => {
    const { store, bookOn } = await open(t);
    let [reading, readingMost] = [0, 0];
    const readBefore = new Set<string>();
    const readKey: KeyStore['readKey'] = async (id) => {
      readingMost = Math.max(readingMost, (reading += 1));
      // The first line of each key takes longer than the second.
      const turns = readBefore.has(id) ? 1 : 9;
      readBefore.add(id);
      const found = await store.readKey(id);
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      reading -= 1;
      return found;
    };
    const changeKey: KeyStore['changeKey'] = async (change) =>
      change.to.id === 'k1' ? 'outdated' : store.changeKey(change);
    const book = bookOn({ readKey, changeKey });
    const { run, faults } = importer(book, { update: true });
    const lines = linesOfKeys(100);
    await run(lines);
    const changed = lines.flatMap((line, at) => {
      const wrong = at % 10 === 3 ? [{ ...line, id: 'k0' }] : [];
      // A key is known by its secret, too.
      const about = at % 2 === 0 ? line : { ...line, id: undefined };
      return [...wrong, { ...about, name: 'first' }, { ...about, name: 'last' }];
    });
    const report = await run(changed);
    assert.deepEqual([report.updated, report.skipped, report.refused], [198, 0, 12]);
    const numbers = faults.map((fault) => Number.parseInt(fault, 10));
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    const ofK1 = faults.filter((fault) => fault.endsWith(': others keep changing the key'));
    assert.equal(ofK1.length, 2);
    for (const { id } of lines.filter((line) => line.id !== 'k1'))
      assert.equal((await book.show(id)).name, 'last', id);
    assert.equal(readingMost, 16);
  });

  test('an import outlasts others who change the same keys', async (t) => {
    const { store, bookOn } = await open(t);
    let [calls, written] = [0, 0];
    const changeKey: KeyStore['changeKey'] = async (change) => {
      calls += 1;
      if (calls % 10 !== 0) return 'outdated';
      written += 1;
      return store.changeKey(change);
    };
    const { run, faults } = importer(bookOn({ changeKey }), { update: true });
    const lines = linesOfKeys(3);
    await run(lines);
    const { updated, refused } = await run(lines.map((line) => ({ ...line, name: 'last' })));
    assert.deepEqual([updated, refused, written, faults], [3, 0, 3, []]);
  });

  test('a second export brings a key in another store to what it is now, also where something was taken from it', async (t) => {
    const { store, book } = await open(t);
    const there = createKeyBook({ store: ownDatabase(t).store.keys, rules, now: Date.now });
    const bring = async (id: string) => {
      const { record } = (await store.readKey(id)) ?? assert.fail();
      const { line } = exportKey(record, { plans: rules.plans, now: Date.now() }) ?? assert.fail();
      const report = await importer(there, { update: true }).run([JSON.parse(JSON.stringify(line))]);
      const whole = { version: 0, createdAt: '', updatedAt: '', secrets: [] };
      assert.deepEqual({ ...(await there.show(id)), ...whole }, { ...(await book.show(id)), ...whole });
      return report;
    };
    const limits = {
      quotas: [{ name: 'monthly', limit: 5, per: 'month' }],
      scopes: ['names'],
      labels: { tier: '2' },
      networks: ['10.0.0.0/8'],
      notBefore: '2026-01-01T00:00:00Z',
      expiresAt: '2126-01-01T00:00:00Z',
    };
    const { key } = await book.create({ plan: 'free', name: 'one', owner: 'ada', ...limits }, by);
    await book.disable(key.id, by);
    assert.equal((await bring(key.id)).added, 1);
    await book.enable(key.id, by);
    await book.update(key.id, Object.fromEntries(Object.keys(limits).map((name) => [name, null])), by);
    await book.update(key.id, { name: null, owner: null }, by);
    assert.equal((await bring(key.id)).updated, 1);
    assert.equal((await bring(key.id)).skipped, 1);
  });

  test('an import that brings keys to what it says outlives a moment without the store', async (t) => {
    const { store, bookOn } = await open(t);
    const lost = new StoreUnavailable('away', { mayHaveHappened: true });
    const failing = new Set([2, 3, 9]);
    let calls = 0;
    const readKey: KeyStore['readKey'] = async (id) => {
      if (failing.has((calls += 1))) throw lost;
      return store.readKey(id);
    };
    let changes = 0;
    const changeKey: KeyStore['changeKey'] = async (change) => {
      const answer = await store.changeKey(change);
      if ((changes += 1) === 7) throw lost;
      return answer;
    };
    const { run } = importer(bookOn({ readKey, changeKey }), { update: true });
    const lines = linesOfKeys(20);
    await run(lines);
    const report = await run(lines.map((line) => ({ ...line, plan: 'paid' })));
    assert.deepEqual([report.updated, report.refused, calls], [20, 0, 24]);
  });

  test('an import that fails has nothing under way when it says so', async (t) => {
    const { store, bookOn } = await open(t);
    const fault = new TypeError('a fault');
    let changing = 0;
    const changeKey: KeyStore['changeKey'] = async (change) => {
      if (change.to.id === 'k3') throw fault;
      changing += 1;
      for (let turns = 0; turns < 9; turns += 1) await new Promise(setImmediate);
      changing -= 1;
      return store.changeKey(change);
    };
    const { run, said } = importer(bookOn({ changeKey }), { update: true });
    const lines = linesOfKeys(9);
    await run(lines);
    await assert.rejects(run(lines.map((line) => ({ ...line, plan: 'paid' }))), fault);
    assert.deepEqual([changing, said.updated, said.refused], [0, 8, 0]);
  });

  test('the plan for lines that name none is for new keys: one that was moved since keeps its own', async (t) => {
    const { book } = await open(t);
    const { run } = importer(book, { update: true, plan: 'free' });
    const lines = ['one', 'two'].map((id) => ({ id, secret: `foreign-key-of-${id}` }));
    const named = { id: 'three', secret: 'foreign-key-of-three', plan: 'paid' };
    const unnamed = { id: null, plan: null, secret: 'foreign-key-of-four' };
    await run(lines.slice(0, 1));
    await book.update('one', { plan: 'paid' }, by);
    const report = await run([...lines, named, unnamed]);
    assert.deepEqual([report.updated, report.skipped, report.added], [0, 1, 3]);
    assert.equal((await book.show('one')).plan, 'paid');
    assert.equal((await book.show('two')).plan, 'free');
    assert.equal((await book.show('three')).plan, 'paid', 'a line that names a plan has it');
  });

  test('a named request makes one key, and its repeat is told apart from another request', async (t) => {
    const { book } = await open(t);
    const request = { name: 'order-1', content: 'a' };
    const all = await Promise.all([1, 2, 3].map(() => book.createOnce({ plan: 'free' }, by, request)));
    assert.equal(new Set(all.map(({ key }) => key.id)).size, 1);
    assert.equal(all.filter(({ secret }) => secret !== null).length, 1);
    const [{ key }] = all as [(typeof all)[number]];
    await assert.rejects(
      book.createOnce({ plan: 'free' }, by, { ...request, content: 'b' }),
      isProblem('reused'),
    );
    await assert.rejects(book.createOnce({ id: 'x' }, by, request), isProblem('invalid'));
    await book.update(key.id, { name: 'renamed' }, by);
    await book.revoke(key.id, by);
    const late = await book.createOnce({ plan: 'gone' }, by, request);
    assert.deepEqual([late.secret, late.key.name, late.key.state], [null, 'renamed', 'revoked']);
    assert.notEqual(
      (await book.createOnce({ plan: 'free' }, by, { ...request, name: 'order-2' })).secret,
      null,
    );
  });

  test('a named rotation happens once, and the request that made the key is never forgotten', async (t) => {
    const { book } = await open(t);
    const made = { name: 'made', content: '' };
    const { key } = await book.createOnce({ plan: 'free' }, by, made);
    const rotate = (name: string, content = '') =>
      book.rotateOnce(key.id, { overlapMs: 0 }, by, { name, content });
    const all = await Promise.all([1, 2, 3].map(() => rotate('r')));
    assert.equal(all.filter(({ secret }) => secret !== null).length, 1);
    assert.equal((await book.show(key.id)).secrets[0]?.number, 2);
    await assert.rejects(rotate('r', 'other'), isProblem('reused'));
    for (let at = 0; at < 6; at += 1) assert.notEqual((await rotate(`r${at}`)).secret, null);
    assert.equal((await rotate('r')).secret, null, 'six came between');
    for (const name of ['r6', 'r']) assert.notEqual((await rotate(name)).secret, null, 'seven came between');
    assert.equal((await book.createOnce({ plan: 'free' }, by, made)).secret, null);
    assert.equal((await book.listAudit({ keyId: key.id })).items.length, 10);
  });

  for (const turn of ['readKey', 'changeKey'] as const) {
    test(`a named rotation does not make its own repeat outdated, which is at ${turn} meanwhile`, async (t) => {
      const { book: first, store, bookOn } = await open(t);
      const { key } = await first.create({ plan: 'free' }, by);
      const rotate = (book: KeyBook, name: string) =>
        book.rotateOnce(key.id, { overlapMs: 0 }, { ...by, versions: [1] }, { name, content: '' });
      let meets = true;
      /** The first comes and is through while the second waits for the store. */
      const meet = async (): Promise<void> => {
        if (!meets) return;
        meets = false;
        assert.notEqual((await rotate(first, 'r')).secret, null);
      };
      const second = bookOn({
        async readKey(id) {
          const known = await store.readKey(id);
          if (turn === 'readKey') await meet();
          return known;
        },
        async changeKey(change) {
          if (turn === 'changeKey') await meet();
          return store.changeKey(change);
        },
      });
      const repeat = await rotate(second, 'r');
      assert.deepEqual([repeat.secret, repeat.key.version], [null, 2]);
      await assert.rejects(rotate(second, 'another'), isProblem('outdated'));
    });
  }

  test('an update changes what is written, empties what is null, and minds the version', async (t) => {
    const { book } = await open(t);
    const { key } = await book.create({ plan: 'free', owner: 'acme', expiresAt: '2026-09-01' }, by);
    const changed = await book.update(key.id, { plan: 'paid', expiresAt: null }, by);
    assert.deepEqual(
      [changed.plan, changed.owner, changed.expiresAt, changed.version],
      ['paid', 'acme', null, 2],
    );
    assert.equal((await book.update(key.id, { plan: 'paid' }, by)).version, 2, 'nothing changed');
    await assert.rejects(
      book.update(key.id, { plan: 'free' }, { ...by, versions: [1] }),
      isProblem('outdated'),
    );
    await Promise.all(['a', 'b', 'c'].map((name) => book.update(key.id, { name }, by)));
    assert.equal((await book.show(key.id)).version, 5, 'changes at the same time all happen');
  });

  test('the audit log says who changed what, and never a secret', async (t) => {
    const { book } = await open(t);
    const { key } = await book.create({ plan: 'free' }, by);
    await book.update(key.id, { plan: 'paid' }, { actor: 'grace' });
    await book.rotate(key.id, { overlapMs: 0 }, by);
    await book.revoke(key.id, by);
    const { items: entries } = await book.listAudit({ keyId: key.id });
    assert.deepEqual(
      entries.map(({ action, actor }) => `${actor} ${action}`),
      ['ada revoke', 'ada rotate', 'grace update', 'ada create'],
    );
    assert.deepEqual(entries[2]?.changes, { plan: ['free', 'paid'] });
    assert.deepEqual((await book.listAudit({ keyId: 'other' })).items, []);
    const { next } = await book.listAudit({ limit: 3 });
    assert.deepEqual((await book.listAudit({ cursor: next ?? '' })).items, entries.slice(3));
    for (const cursor of ['', '-', '0-0', '99999999999999999999', '1-99999999999999999999']) {
      await assert.rejects(book.listAudit({ cursor }), isProblem('invalid'), cursor);
    }
  });

  test('lists are paged, and have the revoked keys only where they are asked for', async (t) => {
    const { book } = await open(t);
    for (let at = 0; at < 7; at += 1) await book.create({ id: `k${at}`, plan: 'free' }, by);
    await book.disable('k1', by);
    await book.revoke('k3', by);
    const ids = async (query: Parameters<KeyBook['list']>[0]) =>
      (await book.list(query)).items.map(({ id }) => id);
    assert.deepEqual(await ids({}), ['k0', 'k1', 'k2', 'k4', 'k5', 'k6']);
    assert.deepEqual(await ids({ revoked: true }), ['k3']);
    const first = await book.list({ limit: 4 });
    assert.equal(first.next, 'k4');
    assert.deepEqual(await ids({ limit: 4, cursor: first.next ?? '' }), ['k5', 'k6']);
  });

  test('a list goes on behind what cannot be read, and an import says which of its keys are gone', async (t) => {
    const at = address(t);
    const { book } = await open(t, at);
    const ids = Array.from({ length: 450 }, (_, nth) => `z${String(nth).padStart(4, '0')}`);
    const lines = ids.map((id) => ({ id, plan: 'free', secret: `foreign-key-of-${id}` }));
    const { run, faults } = importer(book, { update: true });
    await run(lines);
    await spoilKey(at, 'z0003', { how: 'gone', redis });
    await spoilKey(at, 'z0100', { how: 'damaged', redis });
    const page = await book.list({ limit: 1000, plan: 'free' });
    assert.deepEqual(
      page.items.map(({ id }) => id),
      ids.filter((id) => id !== 'z0003' && id !== 'z0100'),
    );
    assert.deepEqual(page.unreadable, at.kind === 'sqlite' ? ['z0100'] : ['z0003', 'z0100']);
    assert.equal(page.next, null);
    const report = await run(lines);
    assert.deepEqual([report.skipped, report.refused], [448, 2]);
    assert.deepEqual(faults, [
      '4: the secret is that of key z0003, whose record is gone',
      '101: the record of key z0100 in the store cannot be read',
    ]);
    const without = lines.slice(98, 102).map(({ secret }) => ({ secret, name: 'renamed' }));
    const renamed = await run(without);
    assert.deepEqual([renamed.updated, renamed.refused, faults.length], [3, 1, 3]);
  });

  test('an import adds what is new, passes over what is there, and refuses line by line', async (t) => {
    const { book } = await open(t);
    const lines = [
      { plan: 'free', secret: 'foreign-key-1', id: 'one' },
      { plan: 'free', hash: `sha256:${digestOf('foreign-key-2').toUpperCase()}`, owner: 'acme' },
      { plan: 'gold', secret: 'foreign-key-3' },
      { plan: 'free' },
      { plan: 'free', secret: 'foreign-key-1' },
      { plan: 'free', secret: 'foreign-key-4', id: 'one' },
      { plan: 'free', secret: `gh_${'x'.repeat(27)}_000000` },
      { plan: 'free', secret: 'k e y' },
      { plan: 'free', secret: 'foreign-key-5', id: 'demo' },
      { plan: 'free', secret: 'foreign-key-6', owner: 7 },
      { plan: 'free', secret: 'foreign-key-7', id: 'no id\n' },
      { plan: 'free', secret: 'foreign-key-8', notBefore: '2026-06-02', expiresAt: '2026-06-01' },
      { plan: 'free', secret: 'foreign-key-9', hash: digestOf('foreign-key-9') },
      { plan: 'free', secret: `sha256:${digestOf('foreign-key-9')}` },
      { plan: 'free', secret: 'foreign-key-10', id: 'foreign-key-10' },
      { plan: 'free', secret: 'foreign-key-11', owner: 'foreign-key-11' },
      { plan: 'free', secret: 'x'.repeat(1025) },
      { plan: 'free', secret: 'x'.repeat(1024), id: 'long' },
      { plan: 'free', hunter2: 'secret', labels: { hunter2: 7 } },
      { plan: 'free', secret: 1234567890123456 },
      { plan: 'free', hash: [digestOf('foreign-key-12')] },
    ];
    const { run, faults, warnings } = importer(book);
    const report = await run(lines);
    assert.deepEqual(report, { lines: 21, added: 3, updated: 0, skipped: 1, refused: 17 });
    assert.equal(faults.length, 17);
    assert.ok(faults.includes('4: has neither a secret nor a hash'));
    assert.ok(faults.includes('6: there is a key of this id with other secrets'));
    assert.ok(faults.includes('13: has a secret and a hash, and may have one of them only'));
    assert.ok(faults.includes('14: secret is a hash, not the secret itself: write it as hash'));
    assert.ok(faults.includes('15: id is the secret too, which belongs nowhere else'));
    assert.ok(faults.includes('16: owner is the secret too, which belongs nowhere else'));
    assert.ok(faults.includes('17: secret is longer than 1024 characters'));
    const unnamed = /^19: there is no such field, .*; labels has a value that is not text$/;
    assert.ok(faults.some((fault) => unnamed.test(fault)));
    assert.doesNotMatch(faults.join(), /foreign-key|hunter2/, 'a short secret may be where a name belongs');
    assert.equal((await book.verify('foreign-key-1')).valid, true);
    assert.equal((await book.verify('foreign-key-2')).key?.owner, 'acme');
    const { version, secrets } = await book.show('one');
    assert.deepEqual([version, secrets.map((secret) => secret.number)], [1, [1]]);
    const again = await run(lines.slice(0, 2));
    assert.deepEqual([again.added, again.skipped], [0, 2]);
    const update = { update: true };
    const refused = await run([{ plan: 'paid', secret: 'foreign-key-1', id: 'another' }], update);
    assert.deepEqual([refused.updated, refused.refused], [0, 1]);
    assert.equal(faults.at(-1), '1: the secret belongs to another key');
    const third = await run([{ plan: 'paid', secret: 'foreign-key-1', id: 'one' }, lines[1]!], update);
    assert.deepEqual([third.updated, third.skipped], [1, 1]);
    assert.equal((await book.show('one')).plan, 'paid');
    await book.rotate('one', { overlapMs: 0 }, by);
    assert.deepEqual(warnings.splice(0), ['1: secret is shorter than 16 characters and can be guessed']);
    const fourth = await run(lines.slice(0, 1));
    assert.deepEqual([fourth.added, fourth.skipped], [0, 1], 'a secret that was replaced is known for good');
    assert.equal((await book.verify('foreign-key-1')).valid, false);
    const renamed = [{ plan: 'paid', secret: 'foreign-key-1', name: 'renamed' }];
    assert.equal((await run(renamed, update)).updated, 1);
    await book.revoke('one', by);
    const fifth = await run(lines.slice(0, 1), update);
    assert.deepEqual([fifth.updated, fifth.skipped], [0, 1]);
    assert.deepEqual(warnings, [
      '1: the secret was replaced by a rotation, and works no more',
      '1: the secret was replaced by a rotation, and works no more',
      '1: the key was revoked, and stays so',
    ]);
    const { state, plan } = await book.show('one');
    assert.deepEqual([state, plan], ['revoked', 'paid'], 'a revoked key is neither made anew nor changed');
  });

  test('a key that comes with its hash keeps scopes of routes that are gone, and that is said', async (t) => {
    const { book } = await open(t);
    const { run, faults, warnings } = importer(book);
    const scopes = ['gone', 'names', '/v9/*'];
    const lines = [
      { plan: 'free', hash: digestOf('foreign-key-1'), id: 'one', scopes },
      { plan: 'free', hash: digestOf('foreign-key-2'), scopes: ['names', 'gone'] },
      { plan: 'free', secret: 'foreign-key-in-plain', scopes },
      {
        plan: 'free',
        hash: digestOf('foreign-key-3'),
        scopes: [' ', 'x\n', '/v9/*/x', `gh_${'x'.repeat(300)}`],
      },
    ];
    const report = await run(lines);
    assert.deepEqual([report.added, report.refused], [2, 2]);
    assert.deepEqual(warnings, [
      '1: scopes[0], scopes[2] are not among the routes',
      '2: scopes[1] is not among the routes',
    ]);
    assert.deepEqual((await book.show('one')).scopes, scopes);
    assert.match(faults[0] ?? '', /^3: scopes\[0\] is not among the routes/);
    assert.match(
      faults[1] ?? '',
      /^4: scopes\[0\] is empty; scopes\[1\] holds .*; scopes\[2\] may .*; scopes\[3\] is longer/,
    );
  });

  test('a line about a key that is there needs no plan, and is judged by the plan that the key has', async (t) => {
    const { book } = await open(t);
    const { run, faults } = importer(book, { update: true });
    await run([{ plan: 'paid', secret: 'foreign-key-1', id: 'one' }]);
    const lines = [
      { secret: 'foreign-key-1', name: 'without a plan' },
      { secret: 'foreign-key-1', ...own('nothing') },
      { secret: 'foreign-key-2', name: 'new' },
    ];
    const report = await run(lines);
    assert.match(faults[0] ?? '', /^2: quotas\[0\] "\w+" has no period/);
    assert.deepEqual(faults.slice(1), ['3: plan is needed, choose from free, paid']);
    assert.deepEqual([report.updated, report.refused], [1, 2]);
    assert.equal((await book.show('one')).name, 'without a plan');
    const both = [
      { secret: 'foreign-key-4', name: 'before its key' },
      { plan: 'free', secret: 'foreign-key-4', name: 'made' },
      { secret: 'foreign-key-4', name: 'changed' },
    ];
    const mixed = await run(both);
    assert.deepEqual([mixed.added, mixed.updated, mixed.refused], [1, 1, 1]);
    assert.equal((await book.verify('foreign-key-4')).key?.name, 'changed');
    await run([...both.slice(1), { secret: 'foreign-key-4', name: 'the last word' }]);
    assert.equal((await book.verify('foreign-key-4')).key?.name, 'the last word');
    // The plan is for new keys alone: `paid` has no quota `month`.
    await run([{ plan: 'free', secret: 'foreign-key-3', id: 'two' }]);
    const later = await run([{ secret: 'foreign-key-3', ...own('month') }], { plan: 'paid' });
    assert.deepEqual([later.updated, later.refused, (await book.show('two')).plan], [1, 0, 'free']);
  });

  test('a line that makes no key changes none whose id an earlier line has asked for in vain', async (t) => {
    const { book } = await open(t);
    const { run, faults } = importer(book, { update: true });
    await run([{ plan: 'paid', secret: 'foreign-key-1', id: 'one', name: 'its own' }]);
    const report = await run([
      { plan: 'paid', secret: 'foreign-key-2', id: 'one' },
      { secret: 'foreign-key-2', name: 'that of another' },
    ]);
    assert.equal((await book.show('one')).name, 'its own');
    assert.deepEqual(faults, [
      '1: there is a key of this id with other secrets',
      '2: plan is needed, choose from free, paid',
    ]);
    assert.deepEqual([report.updated, report.refused], [0, 2]);
  });

  test('a line that makes no key changes that of an earlier one, also if the answer to that was lost', async (t) => {
    const { store, bookOn } = await open(t);
    const lost = new StoreUnavailable('away', { mayHaveHappened: true });
    let calls = 0;
    const addKeys: KeyStore['addKeys'] = async (...args) => {
      const answers = await store.addKeys(...args);
      if ((calls += 1) === 1) throw lost;
      return answers;
    };
    const book = bookOn({ addKeys });
    const { run, faults } = importer(book, { update: true });
    await run([
      { plan: 'free', secret: 'foreign-key-1', id: 'one' },
      { secret: 'foreign-key-1', name: 'changed' },
    ]);
    assert.deepEqual([faults, calls], [[], 2]);
    assert.equal((await book.show('one')).name, 'changed');
  });

  test('a quota that would mean something else in the plan is refused, whoever brings key and plan together', async (t) => {
    const { book } = await open(t);
    assert.match(
      await faultOf(book.create({ plan: 'free', ...own('mnth') }, by)),
      /^quotas\[0\] "mnth" has no period, and the plan has no quota of this name, did you mean "month"\?$/,
    );
    // The plan has neither, but may get one.
    for (const name of ['rate', 'concurrency']) {
      assert.match(
        await faultOf(book.create({ plan: 'free', ...own(name, 'day') }, by)),
        /^quotas\[0\]\.name is how answers call the rate or the concurrency of a plan, choose another name$/,
      );
    }
    const { key } = await book.create({ plan: 'free', ...own('month') }, by);
    assert.match(await faultOf(book.update(key.id, { plan: 'paid' }, by)), /has no period/);
    await book.update(key.id, { plan: 'paid', ...own('mine', 'day') }, by);
    const { run, faults } = importer(book);
    await run([{ plan: 'free', secret: 'foreign-key-9', ...own('mnth') }]);
    assert.match(faults.join(), /has no period/);
  });

  test('an import brings a key to nothing that an update would refuse, and the other lines go on', async (t) => {
    const { book } = await open(t);
    const { run, faults } = importer(book, { update: true });
    const [one, two] = [{ secret: 'foreign-key-1' }, { secret: 'foreign-key-2' }];
    const first = { ...one, plan: 'free', id: 'one', notBefore: '2026-06-01', ...own('month') };
    await run([first, { ...two, plan: 'free' }]);
    const before = await book.show('one');
    const changed = [
      { ...one, plan: 'paid' },
      { ...one, plan: 'free', expiresAt: '2026-05-02' },
      { ...two, plan: 'paid' },
    ];
    const report = await run(changed);
    assert.deepEqual(report, { lines: 3, added: 0, updated: 1, skipped: 0, refused: 2 });
    assert.match(faults[0] ?? '', /^1: quotas\[0\] "\w+" has no period/);
    assert.equal(faults[1], '2: expiresAt must be after the moment from which the key is valid');
    assert.deepEqual(await book.show('one'), before);
  });

  test('a key whose plan has gone is told by its verdict', async (t) => {
    const { book, bookBy } = await open(t);
    const { secret } = await book.create({ plan: 'paid' }, by);
    const fewer = { ...rules, plans: new Map([['free', aPlan()]]) };
    const { valid, reason, refusal } = await bookBy(fewer).verify(secret);
    assert.deepEqual([valid, reason, refusal], [false, 'plan_unknown', 'plan_unknown']);
  });

  test('what is not in order is refused with every fault at once, and not made', async (t) => {
    const { book } = await open(t);
    const fields = { plan: 'fre', scopes: ['nmes', '/v2/*', '/v1/voice/a'], name: 'a\u001bb', nam: 'red' };
    assert.equal(
      await faultOf(book.create(fields, by)),
      'plan is not among the plans, did you mean "free"?,' +
        'scopes[0] is not among the routes, did you mean "names"?,' +
        'scopes[1] is not among the routes, choose from names, /v1/name, /v1/voice/*,' +
        'name holds characters that cannot be seen,' +
        'nam is not a field, did you mean "name"?',
    );
    const wrong = [
      {},
      { plan: 'free', id: 'a b' },
      { plan: 'free', notBefore: '2026-05-02', expiresAt: '2026-05-01' },
      { plan: 'free', expiresAt: '9999-12-31T23:59:59-23:59' },
    ];
    for (const one of wrong) await assert.rejects(book.create(one, by), isProblem('invalid'));
    await assert.rejects(book.create({ plan: 'free', id: 'demo' }, by), isProblem('conflict'));
    assert.deepEqual((await book.list({})).items, []);
  });
}

function isProblem(code: KeyProblem['code']) {
  return (error: unknown): boolean => error instanceof KeyProblem && error.code === code;
}

function linesOfKeys(length: number) {
  return Array.from({ length }, (_, at) => ({ id: `k${at}`, plan: 'free', secret: `of-key-${at}-there` }));
}

async function* linesOf(fields: readonly WrittenFields[]): AsyncGenerator<ImportLine> {
  for (const [at, line] of fields.entries()) yield { number: at + 1, fields: line };
}

/** Imports lines, and keeps what is said of them. */
function importer(book: KeyBook, options: Partial<ImportOptions> = {}) {
  const faults: string[] = [];
  const warnings: string[] = [];
  const said = { lines: 0, added: 0, updated: 0, skipped: 0, refused: 0 };
  const whole: ImportOptions = {
    update: false,
    onFault: (line, message) => void faults.push(`${line}: ${message}`),
    onWarning: (line, message) => void warnings.push(`${line}: ${message}`),
    onProgress: (report) => void Object.assign(said, report),
    ...options,
  };
  const take = async (lines: AsyncIterable<ImportLine>, over: Partial<ImportOptions> = {}) => {
    await book.importKeys(lines, { ...whole, ...over }, by);
    return { ...said };
  };
  return {
    faults,
    warnings,
    /** What was reported last, also of an import that failed. */
    said,
    take,
    run: (lines: readonly WrittenFields[], over?: Partial<ImportOptions>) => take(linesOf(lines), over),
  };
}

function own(name: string, per?: string) {
  return { quotas: [{ name, limit: 5, ...(per === undefined ? {} : { per }) }] };
}

async function faultOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => assert.fail('it was done'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof KeyProblem);
  return error.faults.map(({ field, message }) => `${field} ${message}`).join();
}

async function* brokenOff(): AsyncGenerator<ImportLine> {
  yield { number: 2, fields: { plan: 'free', secret: 'before-the-broken-line' } };
  throw new BrokenFile(3, 'makes no sense');
}
