import assert from 'node:assert/strict';
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { openStore } from '../../src/stores/open-store.ts';
import {
  callsPerCheckpoint,
  logBytesUncopied,
  createCheckpointer,
  logBytesKept,
  startCheckpoint,
} from '../../src/stores/sqlite/checkpoint.ts';
import { existing } from '../../src/stores/sqlite/database.ts';
import { migrations } from '../../src/stores/sqlite/migrations.ts';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { aKey, aNote, aSecret } from '../helpers/a-key.ts';
import { aCounter, aDraw } from '../helpers/ledger-orders.ts';
import { openFiles } from '../helpers/open-files.ts';
import type { OpenerTask } from '../helpers/opener.ts';
import { until } from '../helpers/poll.ts';
import { failureOf, ownDatabase, removeStore, restore, sql } from '../helpers/sqlite-file.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const digest = 'd'.repeat(64);
const record = aKey({ id: 'k', secrets: [aSecret({ digest })] });
const made = { from: undefined, to: record, note: aNote() };

test('a file and its folder are made so that only the owner reads them', async (t) => {
  const path = join(tempFolder(t), 'new', 'gatehouse.db');
  const store = await openStore({ kind: 'sqlite', path });
  t.after(() => store.close());
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('processes that open a new file at the same moment all get it', async (t) => {
  const folder = tempFolder(t);
  const files = Array.from({ length: 12 }, (_, index) => join(folder, `${index}.db`));
  const openers = Array.from({ length: 3 }, () => fork(new URL('../helpers/opener.ts', import.meta.url)));
  t.after(() => openers.forEach((opener) => opener.kill('SIGKILL')));
  const task: OpenerTask = { files, firstAt: Date.now() + 1000, everyMs: 60 };
  const told = openers.map(async (opener) => {
    opener.send(task);
    const [problems] = (await once(opener, 'message')) as [string[]];
    return problems;
  });
  assert.deepEqual((await Promise.all(told)).flat(), []);
});

test('a file that is up to date is opened although another writes to it', (t) => {
  const { path } = ownDatabase(t);
  const locker = sql(path, 'BEGIN IMMEDIATE');
  t.after(() => locker.close());
  const store = openSqlite(path);
  t.after(() => store.close());
});

test('the address by which a file is opened makes none', (t) => {
  const path = join(tempFolder(t), 'g.db');
  assert.throws(() => new DatabaseSync(existing(path)), /^Error: unable to open database file$/);
  assert.ok(!existsSync(path));
});

test('a number beyond 2^53 spoils the record that it is in, and no list', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const store = openSqlite(path);
  t.after(() => store.close());
  const { keys } = store;
  await keys.addKeys([aKey({ id: 'a' }), aKey({ id: 'b' }), aKey({ id: 'c' })], aNote());
  await keys.addKeys([aKey({ id: 'd' })], aNote());
  const beyond = '9007199254740993';
  for (const change of [
    `UPDATE keys SET version = ${beyond} WHERE id = 'b'`,
    `INSERT INTO uses VALUES ('c', 1, ${beyond})`,
    `UPDATE audit SET at = ${beyond} WHERE seq = 1`,
  ])
    sql(path, change).close();
  const known = (await keys.listKeys('', 9)).map(
    ({ found }) => found && [found.record.id, found.usedAt.size],
  );
  assert.deepEqual(known, [['a', 0], undefined, ['c', 0], ['d', 0]]);
  const entries = (await keys.listAudit(undefined, 9)).map(({ id, found }) => [id, found?.keys]);
  assert.deepEqual(entries, [
    ['2', 1],
    ['1', undefined],
  ]);
  await assert.rejects(keys.readKey('b'), /: the record of key b in the store cannot be read$/);
});

const ours = 'PRAGMA application_id = 0x47617465';
const refused: readonly { name: string; at?: string; make?: (path: string) => void; why: string }[] = [
  {
    name: 'a text file',
    make: (path) => writeFileSync(path, 'hello '.repeat(1000)),
    why: 'it is not a SQLite database',
  },
  {
    name: 'a database of another program',
    make: (path) => sql(path, 'CREATE TABLE t (x)').close(),
    why: 'it is a database of another program',
  },
  {
    name: 'one of another program that has no tables yet',
    make: (path) => sql(path, 'PRAGMA application_id = 1').close(),
    why: 'it is a database of another program',
  },
  {
    name: 'a file of a newer version',
    make: (path) => sql(path, `${ours}; PRAGMA user_version = 99`).close(),
    why: `it was written by a newer Gatehouse (version 99, this one knows up to ${migrations.length})`,
  },
  {
    name: 'a link to a file that is not there',
    make: (path) => symlinkSync('nothing.db', path),
    why: 'it is a link to a file that is not there',
  },
  { name: 'a directory', make: (path) => mkdirSync(path), why: 'it is a directory' },
  { name: 'a device', at: '/dev/zero', why: 'it is not a regular file' },
  { name: 'a file in a device', at: '/dev/null/g.db', why: 'a part of its path is not a directory' },
  { name: 'a file of the system', at: '/proc/g.db', why: 'its folder takes no files' },
  {
    name: 'a name that leaves no room for that of its log',
    at: 'x'.repeat(248),
    why: 'its name is too long',
  },
  {
    name: 'a path that is longer than SQLite takes',
    at: join(...Array.from({ length: 5 }, () => 'x'.repeat(100))),
    why: 'its name is too long',
  },
];
for (const { name, at = 'g.db', make, why } of refused) {
  test(`${name} is refused in one sentence, nothing is made for it, and it is not held open`, (t) => {
    const folder = tempFolder(t);
    const path = resolve(folder, at);
    make?.(path);
    const before = readdirSync(folder);
    const message = `cannot open ${path}: ${why}`;
    assert.throws(() => openSqlite(path), { name: 'StoreUnavailable', message });
    assert.deepEqual(readdirSync(folder), before);
    assert.ok(![...openFiles().values()].includes(path));
  });
}

test('a database that stays locked holds nobody up but those who wait for it, fails these in time, and works again after', async (t) => {
  const { path, store } = ownDatabase(t, { deadlineMs: 500 });
  const locker = sql(path, 'BEGIN IMMEDIATE');
  const started = performance.now();
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), 10);
  t.after(() => clearInterval(ticking));
  const waiting = Array.from({ length: 50 }, () => store.keys.changeKey(made));
  assert.equal(await store.keys.findKey(digest), undefined, 'who only reads does not wait');
  const locked = { name: 'StoreUnavailable', message: /was locked for 500 ms$/, mayHaveHappened: false };
  for (const call of waiting) await assert.rejects(call, locked);
  assert.ok(ticks > 10, `the event loop had ${ticks} of 50 turns`);
  // One after the other they would take 25 seconds.
  assert.ok(performance.now() - started < 6000);
  locker.exec('ROLLBACK');
  locker.close();
  await store.keys.changeKey(made);
  assert.deepEqual(await store.keys.findKey(digest), record);
});

test('a file that is deleted fails calls instead of counting into nowhere, and is never made anew', async (t) => {
  const { path, store } = ownDatabase(t);
  const counters = [aCounter({ limit: 1_000_000 })];
  await store.ledger.draw(aDraw({ counters }));
  removeStore(path);
  // Nobody who calls seldom, and never asks for the readiness, goes on counting into nowhere.
  await until(() =>
    store.ledger.draw(aDraw({ counters })).then(
      () => false,
      () => true,
    ),
  );
  await assert.rejects(store.ping(), /cannot open .*g\.db: there is no such file/);
  assert.equal(existsSync(path), false);
});

const vanishings: readonly { name: string; happen: (path: string) => void }[] = [
  { name: 'deleted', happen: (path) => removeStore(path) },
  {
    name: 'replaced by one of another program',
    happen: (path) => {
      removeStore(path);
      writeFileSync(path, 'hello '.repeat(1000));
    },
  },
  {
    // Looking at it is an error, as in a folder that may not be looked into.
    name: 'replaced by a link to itself',
    happen: (path) => {
      removeStore(path);
      symlinkSync(path, path);
    },
  },
];
for (const { name, happen } of vanishings) {
  test(`in a file that is ${name} no key is unknown, and the store does not answer`, async (t) => {
    const path = join(tempFolder(t), 'g.db');
    const stores = [openSqlite(path), openSqlite(path), openSqlite(path)] as const;
    t.after(() => Promise.all(stores.map((store) => store.close())));
    const [asked, pinged, probed] = stores;
    await asked.keys.changeKey(made);
    assert.equal(await asked.keys.findKey('unknown'), undefined);
    happen(path);
    await assert.rejects(asked.keys.findKey('unknown'), StoreUnavailable);
    await assert.rejects(pinged.ping(), StoreUnavailable);
    await assert.rejects(probed.probe(), StoreUnavailable);
  });
}

test('a store that takes no writes answers a ping, and a probe says what is wrong', async (t) => {
  const { path, store } = ownDatabase(t, { deadlineMs: 50 });
  await store.probe();
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await store.ping();
  await assert.rejects(store.probe(), /locked for 50 ms/);
  other.exec('ROLLBACK');
  const written = statSync(`${path}-wal`).size;
  await store.probe();
  assert.ok(statSync(`${path}-wal`).size > written, 'only what is written finds a full disk');
});

test('a store goes on with a copy of its database, and not with another in its place', async (t) => {
  const { path, store } = ownDatabase(t);
  await store.keys.changeKey(made);
  sql(path, `VACUUM INTO '${path}.copy'`).close();
  removeStore(path);
  await openSqlite(path).close();
  for (const call of [
    () => store.keys.findKey('unknown'),
    () => store.ledger.draw(aDraw({ counters: [aCounter({})] })),
    () => store.ping(),
  ]) {
    await assert.rejects(call(), /g\.db is not the database that it was at the start/);
  }
  // It is not held open: the last to close a database removes its log.
  assert.equal(existsSync(`${path}-wal`), false);
  removeStore(path);
  renameSync(`${path}.copy`, path);
  await until(async () => (await failureOf(store)) === undefined);
  assert.deepEqual(await store.keys.findKey(digest), record);
  assert.equal(await store.keys.findKey('unknown'), undefined);
});

test('a store does not go on with another database that is restored into its file, until its own is back', async (t) => {
  const folder = tempFolder(t);
  const [path, other, copy] = ['g.db', 'other.db', 'copy.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const store = openSqlite(path);
  t.after(() => store.close());
  await store.keys.changeKey(made);
  sql(path, `VACUUM INTO '${copy}'`).close();
  await openSqlite(other).close();
  assert.equal(await store.keys.findKey('unknown'), undefined);
  await restore(other, path);
  await assert.rejects(store.keys.findKey(digest), /g\.db is not the database that it was at the start/);
  await assert.rejects(store.ping(), /g\.db is not the database that it was at the start/);
  await restore(copy, path);
  await until(async () => (await failureOf(store)) === undefined);
  assert.deepEqual(await store.keys.findKey(digest), record);
  assert.equal(await store.keys.findKey('unknown'), undefined);
});

test('a file that has a second name is opened by neither, and who has it open goes on with its workers', async (t) => {
  const folder = tempFolder(t);
  const [path, other] = [join(folder, 'g.db'), join(folder, 'other.db')] as const;
  const store = openSqlite(path);
  t.after(() => store.close());
  linkSync(path, other);
  for (const name of [path, other]) {
    assert.throws(() => openSqlite(name), {
      name: 'StoreUnavailable',
      message: `cannot open ${name}: it has a second name (a hard link), and each would have a log of its own`,
    });
  }
  await openSqlite(path, { identity: store.identity }).close();
  renameSync(path, join(folder, 'away.db'));
  await assert.rejects(store.ping(), /there is no such file/);
  renameSync(join(folder, 'away.db'), path);
  await until(async () => (await failureOf(store)) === undefined);
  rmSync(other);
  await openSqlite(path).close();
});

test('the longest name of a file is one that it can be opened by', async (t) => {
  const folder = tempFolder(t);
  for (const path of ['y'.repeat(247), join(...Array.from({ length: 4 }, () => 'y'.repeat(100)))]) {
    const file = join(folder, path);
    await openSqlite(file).close();
    assert.equal(existsSync(file), true);
  }
});

test('a file is made where that is wanted, and that is told', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const told: string[] = [];
  const onCreate = (file: string) => void told.push(file);
  assert.throws(() => openSqlite(path, { create: false, onCreate }), /there is no such file/);
  assert.equal(existsSync(path), false);
  await openSqlite(path, { onCreate }).close();
  for (const create of [true, false]) await openSqlite(path, { create, onCreate }).close();
  assert.deepEqual(told, [path]);
});

test('a file that is damaged fails calls, and the process lives', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const counters = [aCounter({ limit: 1_000_000 })];
  const first = openSqlite(path);
  await first.ledger.draw(aDraw({ counters }));
  await first.close();
  damageTables(path);
  const store = openSqlite(path);
  t.after(() => store.close());
  await assert.rejects(store.ping(), /malformed/);
  for (let round = 0; round < 3; round += 1) {
    await assert.rejects(store.ledger.draw(aDraw({ counters })), (error) => {
      return error instanceof StoreUnavailable && /malformed/.test(error.message);
    });
  }
});

for (const table of ['secrets', 'keys', 'counters']) {
  test(`a store in which only the ${table} are damaged does not answer`, async (t) => {
    const path = join(tempFolder(t), 'g.db');
    await openSqlite(path).close();
    const reader = sql(path, 'BEGIN');
    const row = reader.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table);
    reader.close();
    const file = readFileSync(path);
    const end = Number(row?.['rootpage']) * 4096;
    writeFileSync(path, file.fill(255, end - 4096, end));
    const store = openSqlite(path);
    t.after(() => store.close());
    assert.match(String(await failureOf(store)), /malformed$/);
  });
}

test('a checkpoint leaves the version alone that a newer Gatehouse writes in the meantime', async (t) => {
  const { path } = ownDatabase(t);
  const newer = sql(path, 'BEGIN IMMEDIATE; PRAGMA user_version = 99');
  t.after(() => newer.close());
  const read = (pragma: string): unknown => newer.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  const { checkpointer } = watchCheckpoints(t, path);
  const copied = statSync(path).size;
  checkpointer.noteCalls(callsPerCheckpoint);
  await until(() => statSync(path).size > copied, { what: 'the log is copied, and the lock waited for' });
  newer.exec('COMMIT');
  const committed = read('data_version');
  await until(() => {
    checkpointer.noteCalls(callsPerCheckpoint);
    return read('data_version') !== committed;
  });
  assert.equal(read('user_version'), 99);
});

test('a log that many processes fill is copied before each of them has made its calls', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const stores = Array.from({ length: 4 }, () => openSqlite(path, { deadlineMs: 10_000 }));
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const uncopied = statSync(path).size;
  const counters = [aCounter({ limit: 1_000_000 })];
  const logSize = (): number => statSync(`${path}-wal`).size;
  for (let call = 1; logSize() <= logBytesUncopied; call += 1) {
    assert.ok(call < callsPerCheckpoint, 'or it is copied for another reason');
    for (const { ledger } of stores) await ledger.draw(aDraw({ counters, keyId: `key-${call % 50}` }));
  }
  await until(async () => {
    await stores[0]?.ping();
    return statSync(path).size > uncopied;
  });
});

test('a log that cannot be copied is told of once, and again when it could be in between', async (t) => {
  const { path } = ownDatabase(t);
  const { reasons, rest, tryUntil, isCopied } = watchCheckpoints(t, path);
  for (const round of [1, 2]) {
    await rest();
    renameSync(path, `${path}.away`);
    mkdirSync(path);
    await tryUntil(() => reasons.length === round);
    await rest();
    rmdirSync(path);
    renameSync(`${path}.away`, path);
    await tryUntil(isCopied());
  }
  assert.deepEqual(reasons, ['unable to open database file', 'unable to open database file']);
});

test('where the file is gone it is not the log that is told of', async (t) => {
  const { path } = ownDatabase(t);
  const inUse = statSync(path);
  const { checkpointer, threads, reasons, rest } = watchCheckpoints(t, path, () => inUse);
  renameSync(path, `${path}.away`);
  checkpointer.begin();
  assert.equal(threads.length, 1);
  await rest();
  assert.deepEqual(reasons, []);
});

test('nor is it where another writes to the file for long: the next checkpoint will do it', async (t) => {
  const { path } = ownDatabase(t);
  const inUse = statSync(path);
  const { checkpointer, reasons, rest } = watchCheckpoints(t, path, () => inUse);
  const locker = sql(path, 'BEGIN IMMEDIATE');
  t.after(() => locker.close());
  checkpointer.begin();
  await rest();
  assert.deepEqual(reasons, []);
});

/*
 * Until a call has noticed that another file is in the place of the one in use, its log lies beside the other. SQLite deletes the log
 * of an empty file, and copies it into any other: of a store whose disk was full and whose copy had failed one page was left.
 */
for (const [name, make] of [
  ['an empty file', (other) => writeFileSync(other, '')],
  ['a backup', (other, path) => sql(path, `VACUUM INTO '${other}'`).close()],
] satisfies [string, (other: string, path: string) => void][]) {
  test(`a log is left alone while ${name} is in the place of the file that is in use`, async (t) => {
    const { path, store } = ownDatabase(t);
    make(`${path}.other`, path);
    await store.ledger.draw(aDraw({ counters: [aCounter({})] }));
    const inUse = statSync(path);
    const { checkpointer, rest } = watchCheckpoints(t, path, () => inUse);
    renameSync(`${path}.other`, path);
    const before = [path, `${path}-wal`].map((file) => readFileSync(file));
    checkpointer.begin();
    await rest();
    assert.deepEqual(
      [path, `${path}-wal`].map((file) => readFileSync(file)),
      before,
    );
  });
}

test('a checkpoint for which there is no thread fails no call, is told of once, and is tried again after as many calls', () => {
  let tries = 0;
  const reasons: string[] = [];
  const checkpointer = createCheckpointer('g.db', {
    fileInUse: () => ({ dev: 1, ino: 1 }),
    onFailure: (reason) => void reasons.push(reason),
    startThread: () => {
      tries += 1;
      throw new Error('no thread');
    },
  });
  for (const round of [1, 2]) {
    checkpointer.noteCalls(callsPerCheckpoint - 1);
    assert.equal(tries, round - 1);
    checkpointer.noteCalls(1);
    assert.equal(tries, round);
  }
  assert.deepEqual(reasons, ['no thread']);
});

test('one thread makes all checkpoints, and another when it has died, be it at work', async (t) => {
  const { path, store } = ownDatabase(t);
  const { checkpointer, threads, reasons, rest, tryUntil, isCopied, other } = watchCheckpoints(t, path);
  for (let round = 1; round <= 3; round += 1) await tryUntil(isCopied());
  assert.equal(threads.length, 1);
  await rest();
  assert.deepEqual(reasons, []);
  threads[0]?.emit('error', new Error('it has died'));
  assert.deepEqual(reasons, ['it has died']);
  checkpointer.begin();
  threads[0]?.emit('exit', 1); // before its answer can have come
  checkpointer.begin();
  assert.equal(threads.length, 2);
  await threads[0]?.terminate();
  await tryUntil(isCopied());
  other.close();
  await store.close();
  await until(() => !existsSync(`${path}-wal`), { what: 'no thread keeps the file open' });
});

test('a store that is closed stops its thread, and tells of nothing that this interrupts', async (t) => {
  const terminate = t.mock.method(Worker.prototype, 'terminate');
  const reasons: string[] = [];
  const { store } = ownDatabase(t, { onLogStuck: (reason) => void reasons.push(reason) });
  for (let calls = 0; calls < callsPerCheckpoint; calls += 256) await store.keys.noteUses([]);
  await store.close();
  const [stop] = terminate.mock.calls;
  assert.ok(stop?.this instanceof Worker);
  stop.this.emit('message', 'interrupted');
  await stop.result;
  assert.deepEqual(reasons, []);
});

test('a process that has nothing else to do ends, though its log was copied', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const source = `
    const { statSync } = await import('node:fs');
    const { createCheckpointer, callsPerCheckpoint } = await import(process.argv[1]);
    const { openSqlite } = await import(process.argv[2]);
    openSqlite(process.argv[3]);
    const fileInUse = () => statSync(process.argv[3]);
    createCheckpointer(process.argv[3], { fileInUse, onFailure: () => undefined }).noteCalls(callsPerCheckpoint);`;
  const modules = ['checkpoint', 'open-sqlite'].map((name) =>
    fileURLToPath(new URL(`../../src/stores/sqlite/${name}.ts`, import.meta.url)),
  );
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, ...modules, path]);
  t.after(() => child.kill('SIGKILL'));
  assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(30_000) }), [0, null]);
});

test('the log is cut back while writers never rest', async (t) => {
  const { path, store } = ownDatabase(t, { deadlineMs: 5_000 });
  sql(
    path,
    `PRAGMA wal_autocheckpoint = 0; CREATE TABLE bulk (x); INSERT INTO bulk VALUES (zeroblob(${logBytesKept}))`,
  ).close();
  const size = (): number => statSync(`${path}-wal`).size;
  assert.ok(size() > logBytesKept);
  const counters = [aCounter({ limit: 1_000_000 })];
  const draw = (): Promise<unknown> => store.ledger.draw(aDraw({ counters }));
  while (size() > logBytesKept && size() < 2 * logBytesKept) {
    await Promise.all(Array.from({ length: 64 }, draw));
    await immediate();
  }
  assert.ok(size() <= logBytesKept, `${size()} bytes`);
});

/** Makes checkpoints of the log at a path, and sees what their threads do. */
function watchCheckpoints(t: TestContext, path: string, fileInUse = () => statSync(path)) {
  const threads: Worker[] = [];
  const reasons: string[] = [];
  let [asked, answered] = [0, 0];
  const startThread = (file: string): Worker => {
    const thread = startCheckpoint(file);
    const ask = thread.postMessage.bind(thread);
    thread.postMessage = (message: unknown) => {
      asked += 1;
      ask(message);
    };
    thread.on('message', () => (answered += 1));
    threads.push(thread);
    return thread;
  };
  const onFailure = (reason: string): void => void reasons.push(reason);
  const checkpointer = createCheckpointer(path, { fileInUse, onFailure, startThread });
  const other = sql(path, '');
  t.after(() => {
    checkpointer.close();
    if (other.isOpen) other.close();
  });
  const version = (): unknown => other.prepare('PRAGMA data_version').get()?.['data_version'];
  return {
    checkpointer,
    threads,
    reasons,
    /** Until none is at work. */
    rest: () => until(() => asked === answered),
    tryUntil: (happens: () => boolean) =>
      until(() => {
        checkpointer.begin();
        return happens();
      }),
    /** Whether a checkpoint was made from now on. */
    isCopied: () => {
      const before = version();
      return () => version() !== before;
    },
    other,
  };
}

/** Writes over every page, but for the first, which makes it a database, and the one of its identity. */
function damageTables(path: string): void {
  const database = sql(path, '');
  const find = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'identity'");
  const start = (Number(find.get()?.['rootpage']) - 1) * 4_096;
  database.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, 4_096, start).fill(0xff, start + 4_096);
  writeFileSync(path, bytes);
}
