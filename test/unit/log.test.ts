import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';

const main = new URL('../../src/log.ts', import.meta.url).href;
const logOnce = `
  const { createLog } = await import(${JSON.stringify(main)});
  const log = await createLog('info', 'auto');
  log.logger.info('hello');
  await log.flush();`;

/** What a terminal is sent. */
function shown(env: NodeJS.ProcessEnv): string {
  return execFileSync('script', ['--quiet', '--command', '"$NODE" --eval "$CODE"', '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', NODE: process.execPath, CODE: logOnce, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  });
}

test(
  'a terminal is shown readable lines, in colours unless somebody wants none',
  { skip: process.platform !== 'linux' },
  () => {
    assert.match(stripVTControlCharacters(shown({})), /INFO.*hello/);
    assert.ok(shown({}).includes('\u001B['));
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const text = shown(env);
      assert.match(text, /INFO.*hello/);
      assert.ok(!text.includes('\u001B'));
    }
  },
);
