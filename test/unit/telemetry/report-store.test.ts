import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createStoreReporter } from '../../../src/telemetry/report-store.ts';

test('a store that came back with older data is told of with the time whose changes it lacks', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const reporter = createStoreReporter(logger);
  reporter.onSetBack({ since: 1000, until: 61_000 });
  reporter.onSetBack({ since: 0, until: 61_000 });
  const told = lines.map(({ level, msg, since, until }) => [level, String(msg).slice(0, 32), since, until]);
  assert.deepEqual(told, [
    ['error', 'the store has come back with old', '1970-01-01T00:00:01.000Z', '1970-01-01T00:01:01.000Z'],
    ['error', 'the store has lost its list of c', undefined, undefined],
  ]);
});
