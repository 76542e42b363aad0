import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test('tests of what is printed pass also where everything is told to be coloured, as the files of a run on a terminal are', () => {
  const env = { ...process.env, FORCE_COLOR: '1', NODE_TEST_CONTEXT: undefined };
  const words = [here('../run.ts'), here('commands/print-keys.test.ts')];
  const { status, stdout } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
