import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { type BodyOrder, readBody } from '../../../src/stages/read-body.ts';

for (const [name, head] of [
  ['of a declared length', { contentLength: 1, expectsContinue: false }],
  ['in chunks that waits to be invited', { contentLength: undefined, expectsContinue: true }],
] as const) {
  test(`a body ${name} is refused where there is none, without waiting for it`, async () => {
    const order = { head, rule: { kind: 'none' } } as BodyOrder;
    await assert.rejects(async () => readBody({} as ServerResponse, order), { code: 'body_unexpected' });
  });
}
