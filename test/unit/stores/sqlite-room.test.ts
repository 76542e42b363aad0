import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '../../../src/stores/sqlite/open-sqlite.ts';
import { lacksRoom } from '../../../src/stores/sqlite/refuse-unwritable.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

for (const { name, disk, lacks } of [
  { name: 'a full disk with blocks of 1 KB', disk: { bsize: 1024, bavail: 0 }, lacks: true },
  { name: 'one with 511 KB left', disk: { bsize: 1024, bavail: 511 }, lacks: true },
  { name: 'one with 512 KB left', disk: { bsize: 1024, bavail: 512 }, lacks: false },
  { name: 'one that says nothing of itself', disk: { bsize: 0, bavail: 0 }, lacks: false },
  { name: 'a full disk with blocks of 4 KB', disk: { bsize: 4096, bavail: 0 }, lacks: false },
]) {
  test(`${name} ${lacks ? 'may end a process that opens a database on it' : 'is no danger to a process'}`, () => {
    assert.equal(lacksRoom(disk), lacks);
  });
}

test('a database is not opened where that may end the process', (t) => {
  const path = join(tempFolder(t), 'g.db');
  const ask = t.mock.method(fs, 'statfsSync', () => ({ bsize: 1024, bavail: 511 }));
  syncBuiltinESMExports();
  t.after(() => {
    ask.mock.restore();
    syncBuiltinESMExports();
  });
  assert.throws(() => openSqlite(path), /there is no room left$/);
  assert.ok(!fs.existsSync(`${path}-shm`));
});
