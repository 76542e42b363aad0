import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createDatabase } from '../../../src/stores/sqlite/create-database.ts';
import { openDatabase } from '../../../src/stores/sqlite/database.ts';
import { migrations } from '../../../src/stores/sqlite/migrations.ts';
import { openSqlite } from '../../../src/stores/sqlite/open-sqlite.ts';
import { aCounter, aDraw } from '../../helpers/ledger-orders.ts';
import { ownDatabase, sql } from '../../helpers/sqlite-file.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** In the first files, which no command ever wrote to. */
const firstTables = `
  CREATE TABLE keys (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE secrets (digest TEXT PRIMARY KEY, key TEXT NOT NULL REFERENCES keys (id)) STRICT, WITHOUT ROWID;
  CREATE INDEX secrets_of_key ON secrets (key);`;

for (let version = 1; version < migrations.length; version += 1) {
  test(`a file of version ${version} is brought up to date, and its usage is kept`, async (t) => {
    const path = join(tempFolder(t), 'g.db');
    const { name, limit, periodStart, periodEnd } = aCounter({});
    const before = sql(
      path,
      [...(version === 1 ? [firstTables] : []), ...migrations.slice(0, version)].join('\n'),
    );
    before.exec(`PRAGMA application_id = 0x47617465; PRAGMA user_version = ${version}`);
    const count = before.prepare('INSERT INTO counters VALUES (?, ?, ?, ?, ?)');
    count.run('key', name, periodStart, periodEnd, limit - 1);
    before.close();
    const store = openSqlite(path);
    t.after(() => store.close());
    const draw = async () => (await store.ledger.draw(aDraw({ counters: [aCounter({})] }))).kind;
    assert.deepEqual([await draw(), await draw()], ['drawn', 'exhausted']);
  });
}

test('a connection is as safe and as quick as is promised', (t) => {
  const path = join(tempFolder(t), 'g.db');
  createDatabase(path);
  const database = openDatabase(path, { patient: true, create: true });
  t.after(() => database.close());
  const wanted = {
    trusted_schema: 0,
    journal_mode: 'wal',
    synchronous: 1, // NORMAL
    wal_autocheckpoint: 0,
    temp_store: 2, // MEMORY
  };
  for (const [name, value] of Object.entries(wanted)) {
    const [found] = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {});
    assert.equal(found, value, name);
  }
});

// A scan costs nothing in a small file, and blocks the event loop in one of a million keys.
test('every statement finds its rows by an index, or takes the first few', (t) => {
  const prepare = t.mock.method(DatabaseSync.prototype, 'prepare');
  const { path } = ownDatabase(t);
  prepare.mock.restore();
  const statements = prepare.mock.calls.map(({ arguments: [statement] }) => statement);
  const reader = sql(path, '');
  t.after(() => reader.close());
  const scan = statements.filter((statement) => {
    const plan = reader.prepare(`EXPLAIN QUERY PLAN ${statement}`).all();
    return plan.some(({ detail }) => /^SCAN (?!CONSTANT|sqlite_master|identity)/.test(String(detail)));
  });
  assert.ok(statements.length > 40, 'those of all calls');
  assert.deepEqual(
    scan.filter((statement) => !/(?:FROM \w+|ORDER BY seq) LIMIT \d+/.test(statement)),
    [],
  );
});
