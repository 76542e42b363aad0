import assert from 'node:assert/strict';
import { catalogue, type RefusalCode } from '../../src/refusals.ts';
import type { RawResponse } from './parse-responses.ts';

/**
 * Fails unless the answer is this refusal, word for word where `error` is given. Of several in one test the failure shows `name`.
 */
export function assertRefused(
  answer: RawResponse | undefined,
  code: RefusalCode,
  error?: string,
  name = '',
): void {
  assert.ok(answer, `no answer ${name}`);
  assert.equal(
    `${answer.status} ${answer.headers['x-gatehouse-refusal']} ${name}`,
    `${catalogue[code].status} ${code} ${name}`,
  );
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.match(answer.headers['x-request-id'] ?? '', /^[\w.:-]{8,128}$/);
  assert.ok(answer.headers['date'], 'no Date');
  assert.ok(answer.complete, 'cut off');
  const body = JSON.parse(answer.text) as { error: unknown };
  assert.deepEqual(Object.keys(body), ['error']);
  assert.equal(typeof body.error, 'string');
  if (error !== undefined) assert.equal(body.error, error);
}
