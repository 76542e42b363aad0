import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { countOf } from '../../../bench/flags.ts';

const scenarios = new URL('../../../bench/scenarios.ts', import.meta.url).href;
const bench = fileURLToPath(new URL('../../../bench/run.ts', import.meta.url));

/** What the bench says of flags that it does not take. */
function complaintOf(...flags: readonly string[]): string {
  const { status, stderr } = spawnSync(process.execPath, [bench, ...flags], { encoding: 'utf8' });
  assert.equal(status, 64);
  return stderr;
}

test('a mistake in the flags is told in one line', () => {
  assert.match(
    complaintOf('--rounds', '--quick'),
    /^Option '--rounds' argument is ambiguous \(add --help [^\n]+\)\n$/,
  );
  assert.match(
    complaintOf('--only', '', '--subject', 'caddy'),
    /^There is no "", no "caddy" here \(add --help [^\n]+\)\n$/,
  );
});

test('a count is told with its bounds when it is none', () => {
  assert.equal(countOf('rounds', undefined), undefined);
  assert.equal(countOf('rounds', '9999'), 9999);
  for (const value of ['0', '-1', '1.5', '10000', ''])
    assert.throws(() => countOf('rounds', value), {
      message: `--rounds is a whole number from 1 to 9999, not ${value}`,
    });
});

test('without Redis a quick run measures the gateway on SQLite, and a whole run does not begin', () => {
  const bare = { encoding: 'utf8', env: { PATH: '' } } as const;
  const quick = `import { scenarios } from '${scenarios}'; console.log(scenarios.flatMap(({ quick = [] }) => quick).join());`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', quick], bare);
  assert.equal(stdout.match(/gatehouse sqlite/g)?.length, 2, stdout);
  const { status, stderr } = spawnSync(process.execPath, [bench], bare);
  assert.match(stderr, /^redis-server is not installed; [^\n]+\n$/);
  assert.equal(status, 69);
});
