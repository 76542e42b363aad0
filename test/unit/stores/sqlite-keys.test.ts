import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { auditEntriesMax, auditKeptMs, feedEntriesMax } from '../../../src/stores/key-store.ts';
import { createDatabase } from '../../../src/stores/sqlite/create-database.ts';
import { openDatabase } from '../../../src/stores/sqlite/database.ts';
import { prepareKeys } from '../../../src/stores/sqlite/keys.ts';
import { aKey, aNote } from '../../helpers/a-key.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('the audit log loses what is too old, and what is too much', (t) => {
  const { keys, clock, database, addKey } = scene(t);
  const entries = (): number[] => keys.listAudit(undefined, 9).map(({ id }) => Number(id));
  addKey();
  clock.now += 1;
  addKey();
  clock.now += auditKeptMs;
  addKey();
  assert.deepEqual(entries(), [3, 2]);
  database.exec(`INSERT INTO audit SELECT ${auditEntriesMax + 1}, at, keys, note FROM audit WHERE seq = 3`);
  addKey();
  assert.deepEqual(entries(), [auditEntriesMax + 2, auditEntriesMax + 1, 3]);
  clock.now += auditKeptMs + 1;
  keys.addAudit(aNote());
  assert.deepEqual(entries(), [auditEntriesMax + 3]);
});

test('the feed of changes loses what is too much, and says so to whoever comes from before it', (t) => {
  const { keys, database, addKey } = scene(t);
  addKey();
  database.exec(`INSERT INTO key_changes VALUES (2, 'a'), (${feedEntriesMax}, 'b')`);
  addKey();
  const cursor = String(feedEntriesMax + 1);
  assert.deepEqual(keys.readKeyChanges('0'), { cursor, events: undefined });
  assert.deepEqual(keys.readKeyChanges('1'), {
    cursor,
    events: [{ kind: 'changed', keyId: 'a' }, { kind: 'changed', keyId: 'b' }, { kind: 'added' }],
  });
  assert.deepEqual(keys.readKeyChanges(cursor), { cursor, events: [] });
  assert.deepEqual(keys.readKeyChanges(String(feedEntriesMax + 2)), { cursor, events: undefined });
});

function scene(t: TestContext) {
  const path = join(tempFolder(t), 'g.db');
  createDatabase(path);
  const database = openDatabase(path, { patient: true, create: true });
  t.after(() => database.close());
  const clock = { now: Date.UTC(2026, 0, 1) };
  const keys = prepareKeys(database, () => clock.now);
  return { keys, clock, database, addKey: () => void keys.addKeys([aKey()], aNote()) };
}
