import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isShortage } from '../../../src/upstream/failures.ts';

const failed = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const failedAll = (...codes: string[]): Error =>
  Object.assign(new AggregateError(codes.map(failed)), { code: codes[0] });

test('only what the system has no more of is a shortage, and a name is short of it with all of its addresses', () => {
  for (const code of ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']) {
    assert.ok(isShortage(failed(code)), code);
  }
  assert.ok(isShortage(failedAll('EMFILE', 'EMFILE')));
  // As on a machine without IPv6 that is told to use localhost, where nothing listens.
  assert.ok(!isShortage(failedAll('EADDRNOTAVAIL', 'ECONNREFUSED')));
  for (const error of [failed('ECONNREFUSED'), new Error('nothing of the kind'), undefined]) {
    assert.ok(!isShortage(error));
  }
});
