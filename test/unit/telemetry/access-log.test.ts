import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { accessLine, createAccessLog, type Withhold } from '../../../src/telemetry/access-log.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { Visit } from '../../../src/visit.ts';

function aVisit(parts: Partial<Visit> = {}): Visit {
  return Object.assign(new Visit('id', { peer: '192.0.2.1', client: '192.0.2.1', trusted: false }), parts);
}

/** The line of a visit that was answered 200. */
function lineOf(visit: Visit, headers: object = {}, withhold: Withhold = String): Record<string, unknown> {
  const req = { visit, method: 'GET', headers } as unknown as IncomingMessage;
  return { ...accessLine(req, { statusCode: 200 } as ServerResponse, withhold) };
}

test('what is secret is taken out of a line before it is cut to size', () => {
  const headers = { 'user-agent': `${'u'.repeat(253)}s3cret/1.0` };
  const visit = aVisit({ path: '/v1/s3cret' });
  const { path, userAgent, owed } = lineOf(visit, headers, (text) => text.replaceAll('s3cret', '***'));
  assert.deepEqual([path, userAgent, owed], ['/v1/***', `${'u'.repeat(253)}***`, undefined]);
});

function fieldsOf(visit: Visit): readonly string[] {
  return Object.keys(JSON.parse(JSON.stringify(lineOf(visit))));
}

test('a line has what there is of a request, and that it is owed, and no word of the rest', () => {
  const always = ['requestId', 'method', 'status', 'bytesIn', 'bytesOut', 'ms', 'client'];
  assert.deepEqual(fieldsOf(aVisit()), always);
  const owing = aVisit({ owed: true, cause: new Error('gone') });
  assert.deepEqual(fieldsOf(owing), [...always.slice(0, -1), 'owed', 'client', 'cause']);
});

test('what a line says of a body that does not fit its schema is bounded', () => {
  assert.equal(lineOf(aVisit({ mismatch: 'name is required' }))['mismatch'], 'name is required');
  assert.equal(lineOf(aVisit({ mismatch: 'n'.repeat(300) }))['mismatch'], 'n'.repeat(256));
});

const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
for (const [traceparent, traceId] of [
  [undefined, undefined],
  [`00-${trace}-${span}-01`, trace],
  [`00-${trace}-${span}-00`, trace],
  [`00-${'0'.repeat(32)}-${span}-01`, undefined],
  [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
  [`00-${trace.toUpperCase()}-${span}-01`, undefined],
  [`01-${trace}-${span}-01`, undefined],
  [`00-${trace}-${span}-01-more`, undefined],
  [`00-${trace}-${span}-01, 00-${trace}-${span}-01`, undefined],
  [trace, undefined],
] as const) {
  test(`of the trace ${traceparent} a line names ${traceId}`, () => {
    assert.equal(lineOf(aVisit(), { traceparent })['traceId'], traceId);
  });
}

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
  [{ refusal: 'internal', fault: 'client' }, 'info refused'],
];
for (const [end, says] of ends) {
  test(`a request that ended with ${JSON.stringify(end)} is told of as ${says}`, () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    const visit = aVisit({ upstreamMs: 1.2345, ...end });
    const req = { visit, method: 'GET', headers: {} } as unknown as IncomingMessage;
    const res = Object.assign(new EventEmitter(), { statusCode: 200 }) as unknown as ServerResponse;
    createAccessLog(logger, (text) => text).listen(req, res);
    res.emit('finish');
    const told = lines.map((line) => JSON.parse(line) as { level: string; msg: string; upstreamMs: number });
    assert.deepEqual(
      told.map(({ level, msg, upstreamMs }) => [`${level} ${msg}`, upstreamMs]),
      [[says, 1.23]],
    );
  });
}
