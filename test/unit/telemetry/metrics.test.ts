import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { countTurns } from '../../helpers/count-turns.ts';
import { until } from '../../helpers/poll.ts';

test('a page with nothing new to show of the event loop shows what the one before did', async (t) => {
  const { registry } = createMetrics();
  const figures = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => /^nodejs_eventloop_lag_(?!seconds)/.test(line));
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  assert.ok(
    (await figures()).every((line) => line.endsWith(' 0')),
    'a process that has just started',
  );
  let first: string[] = [];
  await until(async () => {
    now += 1000;
    first = await figures();
    return first.some((line) => /_mean_seconds 0\./.test(line));
  });
  now += 999;
  assert.deepEqual(await figures(), first, 'soon after it');
  now += 1;
  assert.deepEqual(await figures(), first, 'in a process that was held up since');
});

test('the event loop turns over while a page of very many series is printed', async (t) => {
  const { registry, observeStore } = createMetrics();
  for (let operation = 0; operation < 3000; operation += 1) observeStore(`operation${operation}`, 1, true);
  const turns = countTurns(t);
  const page = await registry.metrics();
  const made = turns();
  assert.ok(made >= 10, String(made));
  assert.equal(page.match(/^gatehouse_store_duration_seconds_count\{.*\} 1$/gm)?.length, 3000);
});
