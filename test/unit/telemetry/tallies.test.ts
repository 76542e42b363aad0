import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { buckets, CounterTally, HistogramTally, Page } from '../../../src/telemetry/tallies.ts';
import { Visit } from '../../../src/visit.ts';
import { aQuota } from '../../helpers/a-plan.ts';

test('a series is there once it is expected or counted in, and counts on', async () => {
  const registry = new Registry();
  const tally = new CounterTally(registry, { name: 'calls', help: 'Calls.', labelNames: ['a', 'b'] });
  const series = async () =>
    (await tally.get()).values.map(({ labels, value }) => [...Object.values(labels), value].join(' '));
  tally.expect('a', 'x');
  for (const label of ['x', 'y', 'x']) tally.count('a', label);
  assert.deepEqual(await series(), ['a x 2', 'a y 1']);
  tally.expect('a', 'x');
  tally.expect('b', 'y');
  tally.count('b', 'x');
  for (let reading = 0; reading < 2; reading += 1)
    assert.deepEqual(await series(), ['a x 2', 'a y 1', 'b y 0', 'b x 1']);
});

test('what is measured reads as a histogram of prom-client would have it', async () => {
  const about = { name: 'seconds', help: 'How "long"\nit \\took.', label: 'what' };
  const [expected, actual] = [new Registry(), new Page()];
  const histogram = new Histogram({ ...about, labelNames: [about.label], buckets, registers: [expected] });
  const tally = new HistogramTally(actual, about);
  assert.equal(await actual.metrics(), await expected.metrics());
  for (const what of ['a', 'b "quoted" "twice"\n\n', '\\n\\', '', 'a']) {
    for (const value of [0, 0.001, 0.001_001, 1, 2, 2.5, 600, 601, 1e9, -1]) {
      histogram.observe({ what }, value);
      tally.measure(what, value);
    }
  }
  new CounterTally(expected, { name: 'calls', help: 'Calls.' }).count();
  new CounterTally(actual, { name: 'calls', help: 'Calls.' }).count();
  for (let reading = 0; reading < 2; reading += 1)
    assert.equal(await actual.metrics(), await expected.metrics());
});

test('a page of metrics holds every request that is over, also one of minutes, and those under way', async () => {
  const metrics = createMetrics({ count: 3, countMax: 30, inFlight: 1, inFlightMax: 10, refused: 2 });
  for (let i = 0; i < 2; i += 1) {
    const visit = new Visit(`request-${i}`, { peer: '192.0.2.1', client: '192.0.2.1', trusted: false });
    Object.assign(visit, { route: 'names', upstream: 'backend', upstreamMs: i === 0 ? 4 : 90_000 });
    metrics.countRequest(visit, i === 0 ? 200 : 502);
  }
  const refused = new Visit('refused', { peer: '192.0.2.1', client: '192.0.2.1', trusted: false });
  metrics.countRequest(Object.assign(refused, { route: 'refused', upstream: 'backend' }), 429);
  metrics.countDecision('free', 'granted');
  metrics.showBodyMemory({ taken: 7, max: 70 });
  metrics.showSpool({ memoryBytes: () => 3, memoryMax: 33, diskBytes: () => 5, diskMax: 50 });
  for (let reading = 0; reading < 2; reading += 1) {
    const page = await metrics.registry.metrics();
    assert.match(page, /^gatehouse_requests_total\{route="names",status="2xx",refusal="none"\} 1$/m);
    assert.match(page, /^gatehouse_requests_total\{route="names",status="5xx",refusal="none"\} 1$/m);
    assert.match(page, /^gatehouse_connections 3$/m);
    assert.match(page, /^gatehouse_connections_refused_total 2$/m);
    assert.match(page, /^gatehouse_requests_in_flight 1$/m);
    assert.match(page, /^gatehouse_connections_max 30$/m);
    assert.match(page, /^gatehouse_requests_in_flight_max 10$/m);
    assert.match(page, /^gatehouse_body_memory_bytes 7$/m);
    assert.match(page, /^gatehouse_body_memory_max_bytes 70$/m);
    assert.match(page, /^gatehouse_spool_memory_bytes 3$/m);
    assert.match(page, /^gatehouse_spool_memory_max_bytes 33$/m);
    assert.match(page, /^gatehouse_spool_disk_bytes 5$/m);
    assert.match(page, /^gatehouse_spool_disk_max_bytes 50$/m);
    assert.match(page, /^gatehouse_request_duration_seconds_count\{route="names"\} 2$/m);
    for (const [le, count] of [
      ['0.0025', 0],
      ['0.005', 1],
      ['60', 1],
      ['120', 2],
      ['600', 2],
    ])
      assert.ok(page.includes(`upstream_duration_seconds_bucket{le="${le}",upstream="backend"} ${count}\n`));
    assert.match(page, /^gatehouse_quota_decisions_total\{plan="free",outcome="granted"\} 1$/m);
  }
});

test('of each target that is there its health is shown, and of no other', async () => {
  const metrics = createMetrics();
  let health = [
    { target: 'a', fault: undefined },
    { target: 'b', fault: new Error('it is ill') },
  ];
  metrics.showHealth(() => [{ name: 'backend', health: () => health }]);
  const series = /^gatehouse_target_unhealthy\{.*target="(.*)"\} (\d)$/;
  const shown = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .flatMap((line) => series.exec(line)?.slice(1).join(' ') ?? []);
  assert.deepEqual(await shown(), ['a 0', 'b 1']);
  health = health.slice(1);
  assert.deepEqual(await shown(), ['b 1']);
});

test('what an alert watches is there at 0 before it happens, and goes up by nothing else', async () => {
  const metrics = createMetrics();
  const figures = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .flatMap(
        (line) => /^gatehouse_((?:body|upstream_errors|quota|key|config|worker)_.*)/.exec(line)?.[1] ?? [],
      );
  metrics.expectMismatches('names');
  metrics.expectUpstream('backend');
  metrics.expectPlan('free', { quotas: [aQuota(10, 'month', { warnAt: 0.8 }), aQuota(10, 'day')] });
  const before = await figures();
  assert.ok(before.every((line) => line.endsWith(' 0')));
  for (const mismatch of ['name is required', undefined, undefined]) {
    const visit = new Visit('request', { peer: '192.0.2.1', client: '192.0.2.1', trusted: false });
    metrics.countRequest(Object.assign(visit, { route: 'names', mismatch }), 200);
  }
  metrics.countUpstreamError('backend', 'cut');
  for (const slowed of [true, true, false]) metrics.countKeyFailure(slowed);
  metrics.countReload('refused');
  metrics.countWorkerEnd();
  metrics.countNearLimit('free', 'month');
  metrics.countDecision('free', 'owed');
  const after = await figures();
  assert.deepEqual(
    after.filter((line) => !before.includes(line)),
    [
      'body_mismatches_total{route="names"} 1',
      'upstream_errors_total{upstream="backend",kind="cut"} 1',
      'quota_decisions_total{plan="free",outcome="owed"} 1',
      'quota_near_limit_total{plan="free",quota="month"} 1',
      'key_failures_total{slowed="yes"} 2',
      'key_failures_total{slowed="no"} 1',
      'config_reloads_total{outcome="refused"} 1',
      'config_refused 1',
      'worker_ends_total 1',
    ],
  );
  assert.equal(after.length, before.length);
  metrics.showLeases(() => ({ leases: 2, owingKeys: 3, waitingSteps: 4, droppedSteps: 5 }));
  assert.deepEqual(
    (await figures()).filter((line) => !after.includes(line)),
    ['quota_leases 2', 'quota_owing_keys 3', 'quota_waiting_steps 4', 'quota_dropped_steps_total 5'],
  );
});
