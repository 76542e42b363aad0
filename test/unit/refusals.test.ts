import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWording, Refusal } from '../../src/refusals.ts';

test('what the YAML says of a refusal goes before its own sentence, and that before the one of the catalogue', () => {
  const wording = createWording(
    new Map([['body_invalid', { status: undefined, message: 'Not so', fields: { docs: '/docs' } }]]),
  );
  const message = 'firstName is missing';
  const told = (['body_invalid', 'body_malformed'] as const).flatMap((code) => [
    wording(new Refusal(code, { message })),
    wording(new Refusal(code)),
  ]);
  assert.deepEqual(told, [
    { status: 400, body: '{"error":"Not so","docs":"/docs"}' },
    { status: 400, body: '{"error":"Not so","docs":"/docs"}' },
    { status: 400, body: '{"error":"firstName is missing"}' },
    { status: 400, body: '{"error":"The request body is malformed"}' },
  ]);
});
