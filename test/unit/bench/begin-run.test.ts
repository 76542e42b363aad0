import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, needAlone, needSpace, needWritable } from '../../../bench/begin-run.ts';
import { CannotRun } from '../../../bench/cannot-run.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const alone = new URL('../../../bench/begin-run.ts', import.meta.url).href;

test('while one bench measures on a core no other does, and one that was killed is in nobody’s way', async (t) => {
  const core = `of test ${process.pid}`;
  const measuring = `import { needAlone } from '${alone}'; await needAlone('${core}'); console.log('measures'); setInterval(() => undefined, 1000);`;
  const first = spawn(process.execPath, ['--input-type=module', '-e', measuring]);
  t.after(() => first.kill('SIGKILL'));
  await once(first.stdout, 'data');
  await assert.rejects(needAlone(core), CannotRun);
  first.kill('SIGKILL');
  await once(first, 'exit');
  await needAlone(core);
});

test('nothing is measured where the logs would fill the disk', () => {
  assert.throws(() => needSpace({ bavail: 1000, bsize: 4096 }), CannotRun);
});

test('a folder for temporary files that cannot be used is told in one line', (t) => {
  const before = process.env['TMPDIR'];
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
  process.env['TMPDIR'] = join(tempFolder(t), 'gone');
  assert.throws(makeFolder, (error) => error instanceof CannotRun && /ENOENT.*; TMPDIR /.test(error.message));
});

test('results that could not be written are told of before anything is measured', (t) => {
  const folder = tempFolder(t);
  needWritable(join(folder, 'data/results'));
  assert.throws(
    () => needWritable(folder),
    (error) => error instanceof CannotRun && /EISDIR/.test(error.message),
  );
});
