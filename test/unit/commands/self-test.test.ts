import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import perfHooks from 'node:perf_hooks';
import { test } from 'node:test';
import { leaksSecrets } from '../../../src/commands/self-test.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

test('the gateway as it is shows no key', async () => {
  assert.equal(await leaksSecrets(createLogger), false);
});

test('nothing of the process is watched for it, which would go on for good', async (t) => {
  const watch = t.mock.method(perfHooks, 'monitorEventLoopDelay');
  createMetrics();
  assert.equal(watch.mock.callCount(), 1);
  await leaksSecrets(createLogger);
  assert.equal(watch.mock.callCount(), 1);
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
