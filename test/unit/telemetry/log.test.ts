import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { Refusal } from '../../../src/refusals.ts';
import { createLogger, describeCause } from '../../../src/telemetry/log.ts';

const main = new URL('../../../src/telemetry/log.ts', import.meta.url).href;
/** Its standard output is a pipe that says of itself that it is a terminal. */
const logOnce = `
  const { WriteStream } = await import('node:tty');
  const { getColorDepth, hasColors } = WriteStream.prototype;
  Object.assign(process.stdout, { isTTY: true, getColorDepth, hasColors });
  const { createLog } = await import(${JSON.stringify(main)});
  const log = await createLog('info', 'auto');
  log.logger.info('hello');
  await log.flush();`;

/** What a terminal is sent. */
function shown(env: NodeJS.ProcessEnv): string {
  return execFileSync(process.execPath, ['--eval', logOnce], {
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  });
}

test('a terminal is shown readable lines, in colours unless somebody wants none', () => {
  const coloured = shown({});
  assert.match(stripVTControlCharacters(coloured), /INFO.*hello/);
  assert.ok(coloured.includes('\u001B['));
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    const text = shown(env);
    assert.match(text, /INFO.*hello/);
    assert.ok(!text.includes('\u001B'));
  }
});

test('a target of several addresses that cannot be reached is told of with each of them', () => {
  const errors = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}:9000`));
  const cause = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' });
  assert.deepEqual(describeCause(cause), {
    type: 'AggregateError',
    message: 'connect ECONNREFUSED ::1:9000; connect ECONNREFUSED 127.0.0.1:9000',
    code: 'ECONNREFUSED',
    stack: undefined,
  });
});

test('a fault tells where it was, and what was to be expected only what it is', () => {
  const fault = Object.assign(new TypeError('x is no function'), { secret: 's' });
  const { stack, ...rest } = describeCause(fault);
  assert.deepEqual(rest, { type: 'TypeError', message: 'x is no function', code: undefined });
  assert.equal(stack, fault.stack);
  assert.equal(describeCause(new Refusal('internal')).stack, undefined);
  assert.deepEqual(describeCause('s'), { type: 'string', message: 'not an error' });
});

test('every line has the time at which it was written', (t) => {
  const times: unknown[] = [];
  const logger = createLogger('info', {
    write: (line) => void times.push((JSON.parse(line) as { time: string }).time),
  });
  let now = 0;
  t.mock.method(Date, 'now', () => now);
  for (now of [1000, 1000, 1001]) logger.info('hello');
  assert.deepEqual(times, [
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.001Z',
  ]);
});
