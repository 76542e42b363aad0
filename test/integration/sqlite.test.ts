import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { StoreUnavailable } from '../../src/stores/ledger.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const digest = 'd'.repeat(64);
const record = { id: 'k', plan: 'free', enabled: true, expiresAt: undefined };

test('a key is found by the digest of its secret, in a file and folder that only the owner reads', async (t) => {
  const path = join(tempFolder(t), 'new', 'gatehouse.db');
  const store = await openStore({ kind: 'sqlite', path });
  t.after(() => store.close());
  await store.keys.putKey(record, [digest]);
  assert.deepEqual(await store.keys.findKey(digest), record);
  assert.equal(await store.keys.findKey('e'.repeat(64)), undefined);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('writing a key again replaces its secrets', async (t) => {
  const store = await openSqlite(join(tempFolder(t), 'g.db'));
  t.after(() => store.close());
  await store.keys.putKey(record, [digest, 'old']);
  await store.keys.putKey({ ...record, plan: 'paid', expiresAt: 5 }, [digest]);
  assert.deepEqual(await store.keys.findKey(digest), { ...record, plan: 'paid', expiresAt: 5 });
  assert.equal(await store.keys.findKey('old'), undefined);
});

test('what was written is there after the file is opened again', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const first = await openSqlite(path);
  await first.keys.putKey(record, [digest]);
  await first.close();
  const second = await openSqlite(path);
  t.after(() => second.close());
  assert.deepEqual(await second.keys.findKey(digest), record);
});

const refused = [
  {
    name: 'a text file',
    make: (path: string) => writeFileSync(path, 'hello '.repeat(1000)),
    says: /is not a SQLite database/,
  },
  {
    name: 'a database of another program',
    make: (path: string) => void sql(path, 'CREATE TABLE t (x)'),
    says: /another program/,
  },
  {
    name: 'a file of a newer version',
    make: (path: string) => void sql(path, 'PRAGMA application_id = 0x47617465; PRAGMA user_version = 99'),
    says: /newer Gatehouse \(version 99/,
  },
];
for (const { name, make, says } of refused) {
  test(`${name} is refused with a clear reason`, async (t) => {
    const path = join(tempFolder(t), 'g.db');
    make(path);
    await assert.rejects(
      openSqlite(path),
      (error) => error instanceof StoreUnavailable && says.test(error.message),
    );
  });
}

test('a database that stays locked fails within the deadline and works again when the lock is gone', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const store = await openSqlite(path, { deadlineMs: 100 });
  t.after(() => store.close());
  const locker = sql(path, 'BEGIN IMMEDIATE');
  const started = performance.now();
  await assert.rejects(store.keys.putKey(record, [digest]), StoreUnavailable);
  assert.ok(performance.now() - started < 1000);
  locker.exec('ROLLBACK');
  locker.close();
  await store.keys.putKey(record, [digest]);
  assert.deepEqual(await store.keys.findKey(digest), record);
});

function sql(path: string, statement: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(statement);
  return database;
}
