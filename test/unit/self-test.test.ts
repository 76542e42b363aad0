import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createLogger } from '../../src/log.ts';
import { leaksSecrets } from '../../src/self-test.ts';

test('the gateway as it is shows no key', async () => {
  assert.equal(await leaksSecrets(createLogger), false);
});

test('a logger that writes the headers of requests is found out', async (t) => {
  const careless: typeof createLogger = (level, sink) => {
    const logger = createLogger(level, sink);
    const write = (message: unknown): void =>
      logger.info({ headers: (message as { request: IncomingMessage }).request.rawHeaders });
    subscribe('http.server.request.start', write);
    t.after(() => unsubscribe('http.server.request.start', write));
    return logger;
  };
  assert.equal(await leaksSecrets(careless), true);
});
