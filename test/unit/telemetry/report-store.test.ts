import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createStoreReporter } from '../../../src/telemetry/report-store.ts';

test('all that a store may tell of itself is logged, a store that came back older with the time whose changes it lacks', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const reporter = createStoreReporter(logger);
  reporter.onCreate('/data/g.db');
  reporter.onLogStuck('disk I/O error');
  reporter.onLogRemoved();
  reporter.onSetBack({ since: 1000, until: 61_000 });
  reporter.onSetBack({ since: 0, until: 61_000 });
  reporter.onEvicting('allkeys-lru');
  for (const line of lines) delete line['time'];
  const told = lines.map(({ level, msg, ...about }) => [level, String(msg).slice(0, 32), about]);
  const [since, until] = ['1970-01-01T00:00:01.000Z', '1970-01-01T00:01:01.000Z'];
  assert.deepEqual(told, [
    ['info', 'a new store was made', { file: '/data/g.db' }],
    ['warn', 'the -wal file of the store grows', { reason: 'disk I/O error' }],
    ['error', 'the -wal or -shm file of the sto', {}],
    ['error', 'the store has come back with old', { since, until }],
    ['error', 'the store has lost its list of c', {}],
    ['warn', 'the store may evict keys and usa', { policy: 'allkeys-lru' }],
  ]);
});
