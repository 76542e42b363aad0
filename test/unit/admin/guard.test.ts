import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { createGuard } from '../../../src/admin/guard.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { digestOf } from '../../helpers/a-key.ts';

test('who shows no token is nobody, even where the hash of nothing is written for one', () => {
  const tokens = [{ name: 'ops', digest: digestOf(''), role: 'write' }] as const;
  const admin = { listen: { host: '0.0.0.0', port: 0 }, tokens };
  const guard = createGuard({ admin }, createLogger('silent', { write: () => {} }));
  for (const headers of [[], [''], ['Bearer '], ['Basic YQ==']]) {
    assert.throws(() => guard.identify(showing(headers)), { code: 'token_required' });
  }
});

test('of two tokens neither is taken for the one that was meant, nor is one among other words, and showing them is no guess', () => {
  const tokens = ['read', 'write'] as const;
  const admin = {
    listen: { host: '0.0.0.0', port: 0 },
    tokens: tokens.map((role) => ({ name: role, digest: digestOf(role), role })),
  };
  const guard = createGuard({ admin }, createLogger('silent', { write: () => {} }));
  for (const role of tokens) assert.equal(guard.identify(showing([`Bearer ${role}`]))?.role, role);
  for (const odd of ['Bearer read it', 'To Bearer read', 'Bearerread'])
    assert.throws(() => guard.identify(showing([odd])), { code: 'token_required' }, odd);
  for (let times = 0; times < 30; times += 1) {
    const two = showing(['Bearer read', 'Bearer write']);
    assert.throws(() => guard.identify(two), { code: 'token_required' });
  }
});

/** A request with these values of `Authorization`, as Node reads them. */
function showing(values: readonly string[]): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), {
    headers: { authorization: values[0] },
    headersDistinct: { authorization: [...values] },
  });
}
