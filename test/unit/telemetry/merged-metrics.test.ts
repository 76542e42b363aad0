import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { serialize } from 'node:v8';
import { createMergedMetrics, readAll, readCounts } from '../../../src/telemetry/merged-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { countTurns } from '../../helpers/count-turns.ts';

/** A process that has one connection and has made so many store calls, each of which failed. */
async function snapshotOf(calls: number) {
  const metrics = createMetrics({ count: 1, countMax: 20, inFlight: 0, inFlightMax: 10, refused: 1 });
  for (let call = 0; call < calls; call += 1) metrics.observeStore('draw', 0.004, false);
  return await readAll(metrics.registry);
}

const figures = (page: string): string[] =>
  page
    .split('\n')
    .filter((line) =>
      /^gatehouse_(?:connections |connections_max |connections_refused_total |store_errors_total|store_duration_seconds_count)/.test(
        line,
      ),
    )
    .toSorted();

test('what a process counted stays counted once when it has ended, and what it measured of itself goes', async () => {
  const merged = createMergedMetrics(createMetrics().registry);
  merged.note(1, await snapshotOf(2));
  merged.note(1, await snapshotOf(3));
  merged.note(2, await snapshotOf(5));
  const counted = [
    'gatehouse_connections_refused_total 2',
    'gatehouse_store_duration_seconds_count{operation="draw"} 8',
    'gatehouse_store_errors_total{operation="draw"} 8',
  ];
  assert.deepEqual(figures(await merged.print()), [
    'gatehouse_connections 2',
    'gatehouse_connections_max 40',
    ...counted,
  ]);
  merged.retire(3); // one that could not start has counted nothing
  merged.retire(1);
  for (let reading = 0; reading < 2; reading += 1)
    assert.deepEqual(figures(await merged.print()), [
      'gatehouse_connections 1',
      'gatehouse_connections_max 20',
      ...counted,
    ]);
  merged.retire(2);
  assert.deepEqual(figures(await merged.print()), [
    'gatehouse_connections 0',
    'gatehouse_connections_max 0',
    ...counted,
  ]);
});

const histograms = (page: string): string[] =>
  page.split('\n').filter((line) => /^gatehouse_\w+_duration_seconds/.test(line));

test('what several processes have measured is shown as if one had, whoever of them has ended', async () => {
  const [one, own] = [createMetrics(), createMetrics()];
  const merged = createMergedMetrics(own.registry);
  const measure = (operation: string, seconds: number, where: ReturnType<typeof createMetrics>): void => {
    for (const metrics of [one, where]) metrics.observeStore(operation, seconds, true);
  };
  measure('find', 0.5, own);
  for (const pid of [1, 2, 3]) {
    const worker = createMetrics();
    merged.note(pid, await readAll(worker.registry));
    for (const seconds of [2 ** -8, 2 ** pid, 1000]) measure('draw', seconds, worker);
    if (pid > 1) measure('find', 0.25, worker);
    merged.note(pid, structuredClone(await readCounts(worker.registry)));
  }
  const expected = histograms(await one.registry.metrics()).toSorted();
  assert.equal(expected.length, 2 * 21);
  for (const ended of [undefined, 2, 1, 3]) {
    if (ended !== undefined) merged.retire(ended);
    for (let reading = 0; reading < 2; reading += 1)
      assert.deepEqual(histograms(await merged.print()).toSorted(), expected);
  }
});

test('what a process has measured is counted once on a page that is read while it ends', async () => {
  const merged = createMergedMetrics(createMetrics().registry);
  merged.note(1, await snapshotOf(3));
  const page = merged.print();
  merged.retire(1);
  const counted = 'gatehouse_store_duration_seconds_count{operation="draw"} 3';
  assert.ok(histograms(await page).includes(counted));
  assert.ok(histograms(await merged.print()).includes(counted));
});

/* Written out, 3,000 routes were 9 MB every two seconds from each worker. */
test('what a process has measured is handed over in some hundred bytes a route', async () => {
  const routes = 500;
  const { registry, observeStore } = createMetrics();
  const before = serialize(await readCounts(registry)).length;
  for (let route = 0; route < routes; route += 1) observeStore(`operation${route}`, 0.004, true);
  assert.ok(serialize(await readCounts(registry)).length - before < 200 * routes);
});

test('the event loop turns over while a page of very many series of several processes is printed', async (t) => {
  const merged = createMergedMetrics(createMetrics().registry);
  for (const pid of [1, 2]) {
    const { registry, observeStore } = createMetrics();
    for (let operation = 0; operation < 3000; operation += 1) observeStore(`operation${operation}`, 1, true);
    merged.note(pid, await readAll(registry));
  }
  const turns = countTurns(t);
  const page = await merged.print();
  const made = turns();
  assert.ok(made >= 10, String(made));
  assert.equal(page.match(/^gatehouse_store_duration_seconds_count\{.*\} 2$/gm)?.length, 3000);
});

test('what is read of the counts alone is newer than the last snapshot, and leaves the rest of it', async () => {
  const counting = createMetrics({ count: 1, countMax: 20, inFlight: 0, inFlightMax: 10, refused: 1 });
  const merged = createMergedMetrics(createMetrics().registry);
  merged.note(1, await readAll(counting.registry));
  counting.observeStore('draw', 0.004, false);
  const counts = await readCounts(counting.registry);
  const types = counts.map((metric) => ('type' in metric ? String(metric.type) : 'histogram'));
  assert.deepEqual(new Set(types), new Set(['counter', 'histogram']));
  merged.note(1, counts);
  assert.deepEqual(figures(await merged.print()), [
    'gatehouse_connections 1',
    'gatehouse_connections_max 20',
    'gatehouse_connections_refused_total 1',
    'gatehouse_store_duration_seconds_count{operation="draw"} 1',
    'gatehouse_store_errors_total{operation="draw"} 1',
  ]);
});

test('several processes are one build, as ready as the leading one says, and as old', async () => {
  const own = createMetrics();
  let isReady = true;
  own.showReadiness(async () => isReady);
  const merged = createMergedMetrics(own.registry);
  for (const pid of [1, 2]) merged.note(pid, await snapshotOf(0));
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const build = `gatehouse_build_info{version="${version}",node="${process.versions.node}"} 1`;
  assert.match(await merged.print(), /^gatehouse_ready 1$/m);
  isReady = false;
  const page = await merged.print();
  assert.match(page, /^gatehouse_ready 0$/m);
  assert.ok(page.split('\n').includes(build));
  const start = /^process_start_time_seconds .*$/m;
  assert.deepEqual(start.exec(page)?.[0], start.exec(await own.registry.metrics())?.[0]);
});
