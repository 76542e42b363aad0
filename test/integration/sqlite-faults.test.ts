import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as turnOver } from 'node:timers/promises';
import { logBytesUncopied } from '../../src/stores/sqlite/checkpoint.ts';
import { openConnection } from '../../src/stores/sqlite/connection.ts';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { isSame } from '../../src/stores/sqlite/seen-files.ts';
import type { StoreOptions } from '../../src/stores/store.ts';
import { aKey, aNote, aSecret } from '../helpers/a-key.ts';
import { holdUp } from '../helpers/hold-up.ts';
import { aCounter, aDraw } from '../helpers/ledger-orders.ts';
import type { Errand } from '../helpers/nobody.ts';
import { until } from '../helpers/poll.ts';
import { failureOf, ownDatabase, removeStore, sql } from '../helpers/sqlite-file.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const counters = [aCounter({ limit: 1_000_000 })];

/** By default a call waits for seconds while the log is copied, for which another thread may have to wait for a processor. */
function openScene(t: TestContext, options: StoreOptions = { deadlineMs: 10_000 }) {
  const { path, store } = ownDatabase(t, options);
  const addKey = async (id: string): Promise<string> => {
    const digest = Buffer.from(id.padEnd(32, '.')).toString('hex');
    const to = aKey({ id, secrets: [aSecret({ digest })] });
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
    return digest;
  };
  const draw = (keyId = 'key'): Promise<unknown> => store.ledger.draw(aDraw({ counters, keyId }));
  const fails = (): Promise<string | undefined> => failureOf(store);
  return { path, store, addKey, draw, fails };
}

/** A connection to a new file, and how often it asked that the log be copied. */
function connect(t: TestContext, options: StoreOptions = {}) {
  const path = join(tempFolder(t), 'g.db');
  let asked = 0;
  const connection = openConnection(path, options, () => (asked += 1));
  t.after(() => connection.close());
  return { path, connection, asked: () => asked };
}

for (const how of ['deleted', 'moved over'] as const) {
  test(`a backup in the place of a file that was ${how} is not mixed with the log of that file`, async (t) => {
    const { path, store, addKey, fails } = openScene(t);
    const kept = await addKey('kept');
    sql(path, `VACUUM INTO '${path}.backup'`).close();
    for (let i = 0; i < 300; i += 1) await addKey(`later-${i}`);
    if (how === 'deleted') {
      rmSync(path);
      assert.match(await until(fails), /there is no such file$/);
      copyFileSync(`${path}.backup`, path);
    } else renameSync(`${path}.backup`, path);
    const said = await until(async () => {
      const message = await fails();
      return message?.includes('was replaced') === true ? message : undefined;
    });
    assert.match(said, /g\.db was replaced, and .*g\.db-wal belongs to the file before it: remove it$/);
    for (const end of ['-wal', '-shm']) rmSync(path + end);
    await until(async () => (await fails()) === undefined);
    assert.notEqual(await store.keys.findKey(kept), undefined);
    assert.deepEqual(
      (await store.keys.listKeys('', 10)).map(({ id }) => id),
      ['kept'],
    );
    const [whole] = sql(path, '').prepare('PRAGMA integrity_check').all();
    assert.deepEqual({ ...whole }, { integrity_check: 'ok' });
  });
}

test('a backup in the place of a file that is reached by a link is not mixed with the log of that file', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'real.db');
  const path = join(folder, 'link.db');
  await openSqlite(file).close();
  symlinkSync(file, path);
  const store = openSqlite(path);
  t.after(() => store.close());
  await store.keys.changeKey({ from: undefined, to: aKey({}), note: aNote() });
  sql(file, `VACUUM INTO '${file}.backup'`).close();
  renameSync(`${file}.backup`, file);
  const said = await until(() => failureOf(store));
  assert.match(said, /link\.db was replaced, and .*real\.db-wal belongs to the file before it: remove it$/);
});

for (const { place, content } of [
  { place: 'empty', content: '' },
  { place: 'emptied by "echo >", which leaves a line end', content: '\n' },
  { place: 'there no more', content: undefined },
]) {
  test(`no database is made where only the log of another is left, the file being ${place}`, async (t) => {
    const { path, store, addKey, fails } = openScene(t);
    const digest = await addKey('kept');
    renameSync(path, `${path}.away`);
    if (content !== undefined) writeFileSync(path, content);
    await until(fails);
    assert.throws(() => openSqlite(path), /cannot open .*g\.db: only its log .*g\.db-wal is there/);
    assert.equal(existsSync(path), content !== undefined);
    renameSync(`${path}.away`, path);
    await until(async () => (await fails()) === undefined);
    assert.notEqual(await store.keys.findKey(digest), undefined);
  });
}

test('a lock that is met while the file is opened again is waited for, and holds up nothing else', async (t) => {
  const { path, draw, fails } = openScene(t, { deadlineMs: 5_000 });
  await draw();
  renameSync(path, `${path}.away`);
  await until(fails);
  const locker = sql(`${path}.away`, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  renameSync(`${path}.away`, path);
  let [askedAt, looks] = [0, 0];
  const answered = until(async () => {
    [askedAt, looks] = [performance.now(), 0];
    return (await Promise.allSettled([draw()]))[0].status === 'fulfilled';
  });
  // Right after a failed opening the file is left alone for a moment; then a draw stands in line.
  await until(() => (looks += 1) && performance.now() - askedAt > 300);
  assert.ok(looks > 2, `the event loop had ${looks} turns`);
  locker.exec('ROLLBACK');
  locker.close();
  await answered;
});

test('who stood in line while this process stood still is answered when the lock is free', async (t) => {
  const { path, draw } = openScene(t, { deadlineMs: 100 });
  const locker = sql(path, 'BEGIN IMMEDIATE');
  const waiting = [draw(), draw()];
  // What is asked in one turn is gathered, and tries for the lock at its end.
  for (let turns = 0; turns < 3; turns += 1) await turnOver();
  locker.exec('ROLLBACK');
  locker.close();
  holdUp(300);
  await Promise.all(waiting);
});

test('a file is told from another by volume and number, and by its birth where that is known', () => {
  const before = { dev: 1, ino: 2, birthtimeMs: 3, ctimeMs: 4 };
  assert.ok(isSame({ ...before, ctimeMs: 9 }, before));
  for (const other of [{ dev: 9 }, { ino: 9 }, { birthtimeMs: 9 }])
    assert.ok(!isSame({ ...before, ...other }, before), JSON.stringify(other));
  const birthless = { ...before, birthtimeMs: 4 };
  assert.ok(isSame({ ...birthless, birthtimeMs: 9, ctimeMs: 9 }, birthless));
  assert.ok(!isSame({ ...birthless, ino: 9 }, birthless));
  assert.ok(!isSame(undefined, before));
  assert.ok(!isSame(before, undefined));
  assert.ok(!isSame(undefined, undefined));
});

test('the file in use is the one that was opened last', (t) => {
  const { path, connection } = connect(t);
  const inUse = (): number | undefined => connection.file?.ino;
  sql(path, `VACUUM INTO '${path}.copy'`).close();
  const { ino } = statSync(`${path}.copy`);
  assert.notEqual(inUse(), ino);
  removeStore(path);
  renameSync(`${path}.copy`, path);
  assert.equal(connection.checkPlace(), false);
  assert.equal(inUse(), undefined);
  connection.run((calls) => calls.ping());
  assert.equal(inUse(), ino);
  assert.equal(connection.checkPlace(), true);
});

for (const end of ['-wal', '-shm']) {
  test(`that the ${end} of the file in use was removed is told of once, and what is counted is kept`, async (t) => {
    let told = 0;
    const { path, store, draw } = openScene(t, { onLogRemoved: () => (told += 1) });
    await draw();
    await store.ping();
    assert.equal(told, 0);
    rmSync(path + end);
    await store.ping();
    assert.equal(told, 1);
    // Somebody makes another in its place, and it goes, too.
    writeFileSync(path + end, '');
    await store.ping();
    rmSync(path + end);
    await store.ping();
    assert.equal(told, 1);
    await draw();
    await store.close();
    const later = openSqlite(path);
    t.after(() => later.close());
    const [usage] = await later.ledger.readUsage('key', counters);
    assert.equal(usage?.used, 2);
  });
}

test('whoever opens a file whose log was removed while others have it open is told so, and not of a disk that fails', async (t) => {
  const { path, draw } = openScene(t);
  await draw();
  rmSync(`${path}-wal`);
  const message = `cannot open ${path}: its -wal was removed or cut while others had it open`;
  assert.throws(() => openSqlite(path), { message });
});

test('while the log of a file in use is removed none at its path is copied, and what is beside a file that is away is not missed', (t) => {
  let told = 0;
  const { path, connection } = connect(t, { onLogRemoved: () => (told += 1) });
  rmSync(`${path}-wal`);
  assert.equal(connection.checkPlace(), true);
  assert.equal(connection.file, undefined);
  connection.close();
  connection.run((calls) => calls.ping());
  assert.notEqual(connection.file, undefined);
  assert.equal(told, 1);
  removeStore(path);
  assert.equal(connection.checkPlace(), false);
  assert.equal(told, 1);
});

test('a file that could not be opened again is left alone for a moment', (t) => {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const { path, connection } = connect(t);
  const ping = (): void => connection.run((calls) => calls.ping());
  connection.close();
  renameSync(path, `${path}.away`);
  assert.throws(ping, /there is no such file/);
  renameSync(`${path}.away`, path);
  assert.throws(ping, /there is no such file/);
  now += 100;
  ping();
});

test('after an error of the disk the file is opened again, at most once a second, and not for want of room', (t) => {
  let now = 1_000; // whole, so that a second later is a second later to the last bit
  t.mock.method(performance, 'now', () => now);
  const { connection } = connect(t);
  const isOpenAfter = (errcode: number): boolean => {
    const failed = (): never => {
      throw Object.assign(new Error('failed'), { errcode, errstr: 'it failed' });
    };
    assert.throws(() => connection.run(failed), { message: 'the database cannot answer: it failed' });
    return connection.file !== undefined;
  };
  assert.equal(isOpenAfter(10), true);
  now += 1_000;
  assert.equal(isOpenAfter(13), true);
  assert.equal(isOpenAfter(10), false);
  connection.run((calls) => calls.ping());
  assert.equal(isOpenAfter(10), true);
});

const noRoom = [
  { name: 'the disk is full', errcode: 13, errstr: 'database or disk is full' },
  { name: 'a quota of the disk is used up, told as a failed write', errcode: 778, errstr: 'disk I/O error' },
];
for (const { name, ...failure } of noRoom) {
  test(`the log is copied into the file, and the file stays open, where ${name}`, (t) => {
    const { connection, asked } = connect(t);
    const error = Object.assign(new Error('no room'), failure);
    const fill = (): never =>
      connection.run(() => {
        throw error;
      });
    for (let i = 0; i < 5; i += 1)
      assert.throws(fill, { message: `the database cannot answer: ${failure.errstr}` });
    assert.equal(asked(), 1);
    assert.equal(connection.checkPlace(), true);
  });
}

test('a log that has grown too long is copied, and only once it has grown further again', (t) => {
  const { path, connection, asked } = connect(t);
  const askedAt = (bytes: number): number => {
    truncateSync(`${path}-wal`, bytes);
    assert.equal(connection.checkPlace(), true);
    return asked();
  };
  const sizes = [logBytesUncopied, logBytesUncopied + 1, logBytesUncopied + 1, logBytesUncopied + 2];
  assert.deepEqual(sizes.map(askedAt), [0, 1, 1, 2]);
});

for (const { name, content } of [
  { name: 'an empty file', content: '' },
  { name: 'a file of one byte, which SQLite takes for an empty one,', content: '\n' },
]) {
  test(`${name} is made a database by nobody who may make none`, async (t) => {
    const { path, fails } = openScene(t);
    removeStore(path);
    const none = [{ create: false }, { identity: 'known' }];
    for (const options of none) assert.throws(() => openSqlite(path, options), /there is no such file/);
    assert.equal(existsSync(path), false);
    writeFileSync(path, content);
    assert.match(await until(fails), /cannot open .*g\.db: it is empty/);
    for (const options of none)
      assert.throws(() => openSqlite(path, options), /cannot open .*g\.db: it is empty/);
    assert.equal(readFileSync(path, 'utf8'), content);
    await openSqlite(path).close();
    assert.ok(statSync(path).size > 1);
  });
}

test('the log is copied back soon where only the use of keys is written', async (t) => {
  const { path, store } = openScene(t);
  const before = statSync(path).size;
  const uses = Array.from({ length: 500 }, (_, i) => ({ keyId: `key-${i}`, secretNumber: 1, at: 1 }));
  for (let i = 0; i < 4; i += 1) await store.keys.noteUses(uses);
  await until(() => statSync(path).size > before);
});

const modes: readonly {
  name: string;
  spoil: (path: string) => void;
  mend: (path: string) => void;
  says: RegExp;
}[] = [
  {
    name: 'a file that may not be written to',
    spoil: (path) => chmodSync(path, 0o444),
    mend: (path) => chmodSync(path, 0o644),
    says: /cannot open .*g\.db: it may not be written to \(EACCES\)$/,
  },
  {
    name: 'a folder in which nothing may be made',
    spoil: (path) => chmodSync(dirname(path), 0o555),
    mend: (path) => chmodSync(dirname(path), 0o777),
    says: /cannot open .*g\.db: in .* nothing may be made \(EACCES\)$/,
  },
  {
    name: 'what lies beside a file and belongs to another',
    spoil: (path) => symlinkSync('/etc', `${path}-shm`),
    mend: (path) => rmSync(`${path}-shm`),
    says: /cannot open .*g\.db: .*g\.db-shm may not be written to \(EACCES\)$/,
  },
];
for (const { name, spoil, mend, says } of modes) {
  test(`${name} is told of, and is no hindrance any more when it is mended`, async (t) => {
    const path = join(folderForAll(t), 'g.db');
    const { ask } = asNobody(t, path);
    for (const errand of ['open', 'close'] as const) assert.equal(await ask(errand), '');
    spoil(path);
    assert.match(await ask('open'), says);
    assert.equal(existsSync(`${path}-wal`), false);
    mend(path);
    for (const errand of ['open', 'probe', 'close'] as const) assert.equal(await ask(errand), '');
  });
}

test('a store under way waits for a file that may not be written to, and goes on when it may', async (t) => {
  const path = join(folderForAll(t), 'g.db');
  const { ask } = asNobody(t, path);
  for (const errand of ['open', 'probe'] as const) assert.equal(await ask(errand), '');
  renameSync(path, `${path}.away`);
  await until(async () => (await ask('probe')).endsWith('there is no such file'));
  chmodSync(`${path}.away`, 0o444);
  renameSync(`${path}.away`, path);
  await until(async () => (await ask('probe')).endsWith('it may not be written to (EACCES)'));
  chmodSync(path, 0o644);
  await until(async () => (await ask('probe')) === '');
});

test('what a killed process left beside a file that was not to be written to is written to again', async (t) => {
  const path = join(folderForAll(t), 'g.db');
  const killed = asNobody(t, path);
  for (const errand of ['open', 'probe'] as const) assert.equal(await killed.ask(errand), '');
  await killed.kill();
  for (const end of ['-wal', '-shm']) chmodSync(path + end, 0o444);
  const { ask } = asNobody(t, path);
  for (const errand of ['open', 'probe'] as const) assert.equal(await ask(errand), '');
  for (const end of ['-wal', '-shm']) assert.equal(statSync(path + end).mode, statSync(path).mode);
});

function folderForAll(t: TestContext): string {
  const folder = tempFolder(t);
  chmodSync(folder, 0o777);
  return folder;
}

/** A process that works with a store, and is not root. */
function asNobody(t: TestContext, path: string) {
  const child = fork(new URL('../helpers/nobody.ts', import.meta.url), [path]);
  t.after(() => child.kill('SIGKILL'));
  return {
    ask: async (errand: Errand): Promise<string> => {
      child.send(errand);
      const ended = once(child, 'exit').then(() => ['it ended without a word']);
      const [said] = (await Promise.race([once(child, 'message'), ended])) as [string];
      return said;
    },
    kill: async (): Promise<void> => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
