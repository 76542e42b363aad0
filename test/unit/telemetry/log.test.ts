import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { accessLine, createAccessLog, createLogger, describeCause } from '../../../src/telemetry/log.ts';
import { Visit } from '../../../src/visit.ts';

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
  assert.match(stripVTControlCharacters(shown({})), /INFO.*hello/);
  assert.ok(shown({}).includes('\u001B['));
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
  });
});

test('every line has the time at which it was written', (t) => {
  const times: unknown[] = [];
  const logger = createLogger('info', {
    write: (line) => void times.push((JSON.parse(line) as { time: string }).time),
  });
  for (const now of [1000, 1000, 1001]) {
    t.mock.method(Date, 'now', () => now);
    logger.info('hello');
  }
  assert.deepEqual(times, [
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.001Z',
  ]);
});

test('what is secret is taken out of a line before it is cut to size', () => {
  const visit = new Visit('id', { peer: '192.0.2.1', client: '192.0.2.1', trusted: false });
  visit.path = '/v1/s3cret';
  const headers = { 'user-agent': `${'u'.repeat(253)}s3cret` };
  const req = { visit, method: 'GET', headers } as unknown as IncomingMessage;
  const res = { statusCode: 200 } as ServerResponse;
  const line = accessLine(req, res, (text) => text.replaceAll('s3cret', '***'));
  const { path, userAgent, owed } = line as Record<string, unknown>;
  assert.deepEqual([path, userAgent, owed], ['/v1/***', `${'u'.repeat(253)}***`, undefined]);
});

const ends: readonly (readonly [Partial<Visit>, string])[] = [
  [{}, 'info answered'],
  [{ cut: 'client' }, 'info cut short'],
  [{ cut: 'upstream' }, 'warn cut short'],
  [{ cut: 'gateway' }, 'warn cut short'],
  [{ refusal: 'key_missing' }, 'info refused'],
  [{ refusal: 'key_missing', cut: 'client' }, 'info refused'],
  [{ refusal: 'overloaded' }, 'warn refused'],
  [{ refusal: 'upstream_unreachable' }, 'warn refused'],
  [{ refusal: 'internal' }, 'error refused'],
];
for (const [end, says] of ends) {
  test(`a request that ended with ${JSON.stringify(end)} is told of as ${says}`, () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    const visit = Object.assign(
      new Visit('id', { peer: '192.0.2.1', client: '192.0.2.1', trusted: false }),
      { upstreamMs: 1.2345 },
      end,
    );
    const req = { visit, method: 'GET', headers: {} } as unknown as IncomingMessage;
    const res = Object.assign(new EventEmitter(), { statusCode: 200 }) as unknown as ServerResponse;
    createAccessLog(logger, (text) => text)(req, res);
    res.emit('finish');
    const told = lines.map((line) => JSON.parse(line) as { level: string; msg: string; upstreamMs: number });
    assert.deepEqual(
      told.map(({ level, msg, upstreamMs }) => [`${level} ${msg}`, upstreamMs]),
      [[says, 1.23]],
    );
  });
}
