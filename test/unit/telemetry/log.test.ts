import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { Refusal } from '../../../src/refusals.ts';
import { createLogger, describeCause } from '../../../src/telemetry/log.ts';

const main = new URL('../../../src/telemetry/log.ts', import.meta.url).href;
/** What a process writes to its standard output, a pipe that says of itself that it is a terminal. */
function shownOnTerminal(statements: string): string[] {
  const script = `
    const { WriteStream } = await import('node:tty');
    const { getColorDepth, hasColors } = WriteStream.prototype;
    Object.assign(process.stdout, { isTTY: true, getColorDepth, hasColors });
    const { createLog, formOf } = await import(${JSON.stringify(main)});
    ${statements}`;
  const text = execFileSync(process.execPath, ['--eval', script], {
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  return text.trimEnd().split('\n');
}

test('a terminal is shown readable lines, in colours unless somebody wants none, and those of workers that have none themselves too; all others JSON', () => {
  const lines = shownOnTerminal(`
    const hello = async (form) => {
      const log = await createLog('info', form);
      log.logger.info('hello');
      await log.flush();
    };
    for (const [name, value] of [['TERM', 'xterm-256color'], ['NO_COLOR', '1'], ['TERM', 'dumb']]) {
      delete process.env.NO_COLOR;
      process.env[name] = value;
      await hello(formOf('auto'));
    }
    const forms = [formOf('json')];
    process.stdout.isTTY = false;
    await hello('coloured');
    process.stdout.write([...forms, formOf('auto'), formOf('pretty')].join());`);
  assert.equal(lines.pop(), 'json,json,pretty');
  for (const line of lines) assert.match(stripVTControlCharacters(line), /INFO.*hello/);
  assert.deepEqual(
    lines.map((line) => line.includes('\u001B[')),
    [true, false, false, true],
  );
});

test('on a terminal a line is shown at once, and that of a request begins with what was asked for and what came of it', () => {
  const lines = shownOnTerminal(`
    const { logger } = await createLog('info', 'pretty');
    logger.info({ requestId: 'a', method: 'GET', path: '/v1/x', status: 200 }, 'answered');
    logger.info({ requestId: 'b', method: 'POST', path: '/v1/x', status: 401, refusal: 'key_missing' }, 'refused');
    logger.info({ requestId: 'c', method: 'GET', path: "/v1/$'/$&/$$", status: 404, refusal: 'route_unknown' }, 'refused');
    logger.info({ requestId: 'd', status: 400, refusal: 'request_malformed' }, 'refused');
    logger.info({ requestId: 'e', method: 'GET', path: '/\\u001b[2J\\u202e', status: 200 }, 'two\\nlines');
    logger.info({ actor: 'ada', status: 201 }, 'an operator asked for a change');`);
  assert.deepEqual(
    lines.map((line) => /INFO: (.*?) {/.exec(line)?.[1]),
    [
      'GET /v1/x 200 answered',
      'POST /v1/x 401 refused: key_missing',
      "GET /v1/$'/$&/$$ 404 refused: route_unknown",
      'refused: request_malformed',
      'GET /\uFFFD[2J\uFFFD 200 two\uFFFDlines',
      'an operator asked for a change',
    ],
  );
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
  const { message } = describeCause(new AggregateError([cause, new Error('too late')], 'nowhere'));
  assert.equal(message, `${describeCause(cause).message}; too late`);
  assert.equal(describeCause(new Error()).message, '');
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
