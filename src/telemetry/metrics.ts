import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { PlanRule } from '../config/plan-rule.ts';
import { noRoute } from '../config/route-names.ts';
import type { RefusalCode } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { node, version } from './build.ts';
import { showBounded, showCounter, showGauge, showGauges } from './instruments.ts';
import { CounterTally, HistogramTally, Page } from './tallies.ts';

/** Where the numbers are read. */
export type MetricsSource = Pick<Page, 'contentType' | 'metrics' | 'getMetricsAsArray'>;

/** What failed towards an upstream; cut = broken off after its answer had begun. */
const upstreamErrors = ['unreachable', 'timeout', 'broken', 'cut'] as const;

/** What came of asking a caller's limits. */
const decisions = [
  'granted',
  'owed',
  'quota_exhausted',
  'rate_exceeded',
  'too_many_in_flight',
  'quota_unavailable',
  'client_gone',
] as const;

/** Who is connected, and what is worked on for them: what `limits` bounds. */
interface Clients {
  readonly count: number;
  readonly countMax: number;
  readonly inFlight: number;
  readonly inFlightMax: number;
  /** Connections that there was no room for so far. */
  readonly refused: number;
}

const nobody: Clients = { count: 0, countMax: 0, inFlight: 0, inFlightMax: 0, refused: 0 };

/** Sizes of what the quotas keep in memory. */
export interface LeaseCounts {
  readonly leases: number;
  readonly owingKeys: number;
  readonly waitingSteps: number;
  readonly droppedSteps: number;
}

/** What bodies take that are held in memory. */
interface BodyBytes {
  readonly taken: number;
  readonly max: number;
}

/** What uploads take while they wait. */
interface SpoolBytes {
  readonly memoryBytes: () => number;
  readonly memoryMax: number;
  readonly diskBytes: () => number;
  readonly diskMax: number;
}

/** The targets of an upstream, with what is wrong with each, if anything is. */
interface CheckedUpstream {
  readonly name: string;
  readonly health: () => readonly { readonly target: string; readonly fault: unknown }[];
}

/** The event loop is measured every 10 ms. */
const loopFiguresMs = 1000;

const leaseGauges: readonly (readonly [part: keyof LeaseCounts, name: string, help: string])[] = [
  ['leases', 'gatehouse_quota_leases', 'Keys for which this process holds, or has just held, leased quota.'],
  ['owingKeys', 'gatehouse_quota_owing_keys', 'Keys with requests that the store has yet to count.'],
  [
    'waitingSteps',
    'gatehouse_quota_waiting_steps',
    'Calls that give units back to the store or charge them, and that it has not taken yet.',
  ],
];

/** Metrics of the gateway and of its process. */
export function createMetrics(clients?: Clients): Metrics {
  const registry = new Page();
  // Watches the event loop and each garbage collection for as long as the process lives.
  collectDefaultMetrics({ register: registry });
  keepLoopFigures(registry);
  return createGatewayMetrics(clients, registry);
}

/**
 * The figures of the event loop are those since they were last read. Read again within 10 ms, or once the process has been held up
 * since, there may be none, and the shortest pause would be 292 years. So whoever reads then is shown the same once more, as are
 * readers within one second, such as a pair of Prometheus servers.
 */
function keepLoopFigures(registry: Registry): void {
  const loop = registry.getMetricsAsArray().find(({ name }) => name === 'nodejs_eventloop_lag_seconds');
  if (loop === undefined) return;
  const read = loop.collect;
  const delays = monitorEventLoopDelay({ resolution: 10 }); // begun after theirs: what it has seen, they have
  delays.enable();
  let readAt = performance.now();
  loop.collect = () => {
    const now = performance.now();
    if (now - readAt < loopFiguresMs || delays.count === 0) return;
    readAt = now;
    delays.reset();
    void read.call(loop);
  };
}

export type Metrics = ReturnType<typeof createGatewayMetrics>;

/**
 * Those of the gateway alone: counts of what happens. Labels come from the configuration and the code only, so clients cannot make
 * series grow. What an alert watches is shown at 0 before it first happens (`expect…`), because `increase()` does not see the first
 * event of a series that begins with it.
 */
export function createGatewayMetrics(clients: Clients = nobody, registry = new Page()) {
  // In the order of the page.
  const ofRequests = requestMetrics(registry);
  const ofStore = storeMetrics(registry);
  showClients(registry, clients);
  showBuild(registry);
  return {
    /** Where the numbers are read. */
    registry: registry as MetricsSource,
    ...ofRequests,
    ...ofStore,
    ...limitMetrics(registry),
    ...keyMetrics(registry),
    ...reloadMetrics(registry),
    ...processMetrics(registry),
  };
}

function requestMetrics(registry: Page) {
  const requests = new CounterTally(registry, {
    name: 'gatehouse_requests_total',
    help: 'Requests by route, status class and refusal code ("none" when answered).',
    labelNames: ['route', 'status', 'refusal'],
  });
  const mismatches = new CounterTally(registry, {
    name: 'gatehouse_body_mismatches_total',
    help: 'Bodies that do not fit their schema, where that is only reported (onMismatch).',
    labelNames: ['route'],
  });
  const duration = new HistogramTally(registry, {
    name: 'gatehouse_request_duration_seconds',
    help: 'From the head of a request to the end of its answer.',
    label: 'route',
  });
  const upstreamDuration = new HistogramTally(registry, {
    name: 'gatehouse_upstream_duration_seconds',
    help: 'From the request sent to the upstream to the head of its answer.',
    label: 'upstream',
  });
  const errors = new CounterTally(registry, {
    name: 'gatehouse_upstream_errors_total',
    help: `Upstream exchanges that failed, by kind: ${upstreamErrors.join(', ')}.`,
    labelNames: ['upstream', 'kind'],
  });
  return {
    /** Counts a request that is over. */
    countRequest: (visit: Visit, status: number): void => {
      const route = visit.route ?? noRoute;
      requests.count(route, classOf(status), visit.refusal ?? 'none');
      if (visit.mismatch !== undefined) mismatches.count(route);
      duration.measure(route, visit.tookMs / 1000);
      if (visit.upstreamMs !== undefined && visit.upstream !== undefined) {
        upstreamDuration.measure(visit.upstream, visit.upstreamMs / 1000);
      }
    },
    /** Counts a request that could not even be parsed. */
    countUnreadable: (status: number, refusal: RefusalCode) =>
      requests.count(noRoute, classOf(status), refusal),
    expectMismatches: (route: string) => mismatches.expect(route),
    countUpstreamError: (upstream: string, kind: (typeof upstreamErrors)[number]) =>
      errors.count(upstream, kind),
    expectUpstream: (upstream: string): void => {
      for (const kind of upstreamErrors) errors.expect(upstream, kind);
    },
    /** Shows the targets whose health is checked. */
    showHealth: (upstreams: () => Iterable<CheckedUpstream>) =>
      showGauges(registry, {
        name: 'gatehouse_target_unhealthy',
        help: '1 while health checks find that a target is not healthy, otherwise 0.',
        labelNames: ['upstream', 'target'],
        *read() {
          for (const { name, health } of upstreams()) {
            for (const { target, fault } of health()) yield [[name, target], fault === undefined ? 0 : 1];
          }
        },
      }),
  };
}

function storeMetrics(registry: Page) {
  const errors = new CounterTally(registry, {
    name: 'gatehouse_store_errors_total',
    help: 'Store calls that failed or came too late.',
    labelNames: ['operation'],
  });
  const duration = new HistogramTally(registry, {
    name: 'gatehouse_store_duration_seconds',
    help: 'Store calls, failed ones included.',
    label: 'operation',
  });
  return {
    observeStore: (operation: string, seconds: number, ok: boolean): void => {
      duration.measure(operation, seconds);
      if (!ok) errors.count(operation);
    },
    expectOperation: (operation: string) => errors.expect(operation),
  };
}

/** Read when the metrics are. */
function showClients(registry: Registry, clients: Clients): void {
  showBounded(registry, {
    name: 'gatehouse_connections',
    help: 'Open client connections.',
    read: () => clients.count,
    option: 'limits.connections',
    max: () => clients.countMax,
  });
  showCounter(registry, {
    name: 'gatehouse_connections_refused_total',
    help: 'Client connections closed at once, as there were as many as limits.connections allows.',
    read: () => clients.refused,
  });
  showBounded(registry, {
    name: 'gatehouse_requests_in_flight',
    help: 'Requests being worked on.',
    read: () => clients.inFlight,
    option: 'limits.inFlight',
    max: () => clients.inFlightMax,
  });
}

function limitMetrics(registry: Registry) {
  const outcomes = new CounterTally(registry, {
    name: 'gatehouse_quota_decisions_total',
    help: 'Requests that reached their limits, by plan and outcome: granted, owed (let through though a limit could not be asked), client_gone or the refusal code.',
    labelNames: ['plan', 'outcome'],
  });
  const nearLimit = new CounterTally(registry, {
    name: 'gatehouse_quota_near_limit_total',
    help: 'Keys that came near a limit (warnAt), once for each period.',
    labelNames: ['plan', 'quota'],
  });
  return {
    countDecision: (plan: string, outcome: (typeof decisions)[number]) => outcomes.count(plan, outcome),
    countNearLimit: (plan: string, quota: string) => nearLimit.count(plan, quota),
    expectPlan: (plan: string, { quotas }: Pick<PlanRule, 'quotas'>): void => {
      for (const outcome of decisions) outcomes.expect(plan, outcome);
      for (const { name, warnAt } of quotas) if (warnAt !== undefined) nearLimit.expect(plan, name);
    },
    showLeases: (read: () => LeaseCounts): void => {
      for (const [part, name, help] of leaseGauges)
        showGauge(registry, { name, help, read: () => read()[part] });
      showCounter(registry, {
        name: 'gatehouse_quota_dropped_steps_total',
        help: 'Calls of that kind that were given up, after too long an outage or for want of room: their units stay counted as they were.',
        read: () => read().droppedSteps,
      });
    },
  };
}

function keyMetrics(registry: Registry) {
  const failures = new CounterTally(registry, {
    name: 'gatehouse_key_failures_total',
    help: 'Keys that were not valid: "yes" when the client was told that it tried too many (429), "no" when not (401).',
    labelNames: ['slowed'],
  });
  for (const slowed of ['yes', 'no']) failures.expect(slowed);
  return { countKeyFailure: (slowed: boolean) => failures.count(slowed ? 'yes' : 'no') };
}

function reloadMetrics(registry: Registry) {
  const reloads = new CounterTally(registry, {
    name: 'gatehouse_config_reloads_total',
    help: 'Configuration reloads: done or refused.',
    labelNames: ['outcome'],
  });
  for (const outcome of ['done', 'refused']) reloads.expect(outcome);
  let isRefused = false;
  showGauge(registry, {
    name: 'gatehouse_config_refused',
    help: '1 from a refused reload to the next that is done: the file is not what is in force. Otherwise 0.',
    read: () => (isRefused ? 1 : 0),
  });
  return {
    countReload: (outcome: 'done' | 'refused'): void => {
      reloads.count(outcome);
      isRefused = outcome === 'refused';
    },
  };
}

function processMetrics(registry: Registry) {
  const ends = new CounterTally(registry, {
    name: 'gatehouse_worker_ends_total',
    help: 'Workers that ended though nobody had asked them to.',
  });
  return {
    countWorkerEnd: () => ends.count(),
    /** Shows what `/readyz` says: by whoever answers there, and so once for all workers. */
    showReadiness: (isReady: () => Promise<boolean>) =>
      showGauge(registry, {
        name: 'gatehouse_ready',
        help: 'What /readyz says when nothing is excluded: 1 for 200, 0 for 503.',
        read: async () => ((await isReady()) ? 1 : 0),
      }),
    showBodyMemory: (memory: BodyBytes): void =>
      showBounded(registry, {
        name: 'gatehouse_body_memory_bytes',
        help: 'Bytes of memory that JSON, text fields and other small bodies have taken.',
        read: () => memory.taken,
        option: 'limits.bodyMemory',
        max: () => memory.max,
      }),
    showSpool: ({ memoryBytes, memoryMax, diskBytes, diskMax }: SpoolBytes): void => {
      showBounded(registry, {
        name: 'gatehouse_spool_memory_bytes',
        help: 'Bytes of memory that uploads have taken.',
        read: memoryBytes,
        option: 'spool.memory',
        max: () => memoryMax,
      });
      showBounded(registry, {
        name: 'gatehouse_spool_disk_bytes',
        help: 'Bytes of uploads that wait in files.',
        read: diskBytes,
        option: 'spool.disk',
        max: () => diskMax,
      });
    },
    showLostLines: (read: () => number) =>
      showCounter(registry, {
        name: 'gatehouse_log_lost_lines_total',
        help: 'Lines of the log that were dropped, because nobody read them or the disk was full.',
        read,
      }),
  };
}

/** Processes of one gateway have one build. */
function showBuild(registry: Registry): void {
  new Gauge({
    name: 'gatehouse_build_info',
    help: 'Always 1; the labels are the versions of the gateway and of Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
    aggregator: 'first',
  })
    .labels(version, node)
    .set(1);
}

const statusClasses = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;

function classOf(status: number): string {
  return statusClasses[Math.floor(status / 100)] ?? '0xx';
}
