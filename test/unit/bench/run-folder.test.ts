import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CannotRun } from '../../../bench/cannot-run.ts';
import { makeRunFolder } from '../../../bench/run-folder.ts';

test('nothing is measured where the logs would fill the disk', () => {
  assert.throws(() => makeRunFolder({ bavail: 1000, bsize: 4096 }), CannotRun);
});
