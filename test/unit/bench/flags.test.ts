import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { countOf } from '../../../bench/flags.ts';

const bench = fileURLToPath(new URL('../../../bench/run.ts', import.meta.url));

test('a mistake in the flags is told in one line', () => {
  const { status, stderr } = spawnSync(process.execPath, [bench, '--rounds', '--quick'], {
    encoding: 'utf8',
  });
  assert.match(stderr, /^Option '--rounds' argument is ambiguous \(add --help [^\n]+\)\n$/);
  assert.equal(status, 64);
});

test('a count is told with its bounds when it is none', () => {
  assert.equal(countOf('rounds', undefined), undefined);
  assert.equal(countOf('rounds', '9999'), 9999);
  for (const value of ['0', '-1', '1.5', '10000', ''])
    assert.throws(() => countOf('rounds', value), {
      message: `--rounds is a whole number from 1 to 9999, not ${value}`,
    });
});
