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
  for (const headers of [
    {},
    { authorization: '' },
    { authorization: 'Bearer ' },
    { authorization: 'Basic YQ==' },
  ]) {
    const req = Object.assign(new IncomingMessage(new Socket()), { headers });
    assert.throws(() => guard.identify(req), { code: 'token_required' });
  }
});
