import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drainPatienceMs } from '../../../../src/commands/workers/drain-patience.ts';
import type { Config } from '../../../../src/config/config.ts';

test('a worker may take its delay, its time and a little more from the word to drain to its end', () => {
  const drain = { delayMs: 2000, timeoutMs: 30_000 };
  const patience = drainPatienceMs({ drain } as unknown as Config) - 32_000;
  assert.ok(patience > 0 && patience <= 10_000, `${patience} ms`);
});
