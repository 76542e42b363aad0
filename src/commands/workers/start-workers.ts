import { availableParallelism } from 'node:os';
import { setImmediate as turnOver } from 'node:timers/promises';
import { listenAdmin, type AdminListener, type AdminParts } from '../../admin/admin.ts';
import { untilDrained, type Readiness, type ReadinessReport } from '../../admin/readiness.ts';
import { checked } from '../../config/checked.ts';
import type { Config } from '../../config/config.ts';
import type { HandedConfig } from '../../config/hand-over.ts';
import { claimPort } from '../../door/acceptors.ts';
import { openStore } from '../../stores/open-store.ts';
import type { Log } from '../../telemetry/log.ts';
import { createMergedMetrics } from '../../telemetry/merged-metrics.ts';
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts';
import { createStoreReporter } from '../../telemetry/report-store.ts';
import { watchStore } from '../../telemetry/watch-store.ts';
import { drainPatienceMs } from '../../waiting/patience.ts';
import { endedBy } from '../exit-codes.ts';
import type { Served } from '../served.ts';
import type { Signals } from '../signals.ts';
import { Crew } from './crew.ts';
import { forkWorker } from './fork-worker.ts';

/** How long a round lasts. A worker that is killed takes with it what it has counted since it was last asked. */
const roundMs = 2000;

/** A gateway of several processes. This one leads: it replaces what dies, answers the operators, and writes the log. */
export async function startWorkers(
  config: Config,
  handed: HandedConfig,
  { log, signals }: { readonly log: Log; readonly signals: Signals },
): Promise<Served> {
  const own = createMetrics();
  const metrics = createMergedMetrics(own.registry);
  const crew = new Crew({
    count: config.workers,
    // With one that hangs while it starts there is still another.
    startsAtOnce: Math.max(2, availableParallelism()),
    logger: log.logger,
    fork: () => forkWorker(log),
    stopAsked: signals.stopAsked,
    stopPatienceMs: drainPatienceMs(config.drain),
    metrics,
    onDied: own.countWorkerEnd,
  });
  endInGoodOrder(crew, signals);
  const collect = (about: 'metrics' | 'counts'): Promise<void> =>
    crew.ask(about, (snapshot, pid) => metrics.note(pid, snapshot));
  const readiness = readinessOf(crew, config.workers);
  own.showReadiness(async () => (await readiness.check()).ready);
  let current = config;
  const admin = await openAdmin(config, own, {
    configInForce: () => current,
    logger: log.logger,
    readiness,
    metrics: {
      contentType: metrics.contentType,
      async metrics() {
        await collect('metrics');
        return await metrics.print();
      },
    },
  });
  setInterval(() => {
    crew.beginRound();
    void collect('counts');
  }, roundMs).unref();
  try {
    // When the first worker cannot start this process ends, and the port is free again.
    const claim = await claimPort(config.listen);
    const listen = await crew.start({ config: handed, logForm: log.form, port: claim.port });
    claim.makeWay();
    return {
      listen,
      admin: admin.address,
      metrics: own,
      traffic: { inFlight: 0, whenDone: () => undefined }, // each worker has its own
      reload: async (next) => {
        const reloaded = await crew.reload(checked(next.handed));
        current = next.config;
        return reloaded;
      },
      tellKeysInBoth: () => crew.tellKeysInBoth(),
      drain: async () => {
        readiness.drain();
        const changes = admin.drain();
        claim.release();
        await crew.drain(drainPatienceMs(config.drain));
        await changes;
        await admin.close();
      },
    };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

/**
 * Ends the workers with this process where somebody has asked twice and does not want to wait, and lets what they have logged out
 * first. A fault of this process costs callers nothing: the workers finish what they have in flight, as they do when it is killed.
 */
function endInGoodOrder(crew: Crew, signals: Signals): void {
  process.once('exit', (code) => {
    if (code === endedBy.SIGINT || code === endedBy.SIGTERM) crew.kill();
  });
  signals.lastly(async () => {
    await crew.ask('logged', () => undefined);
    await turnOver(); // what they wrote is here by the time their answer is, but may be read after it
  });
}

/** Opens the operators' side, which alone needs a store here: the leading process serves no callers. */
async function openAdmin(
  { admin, store: at, storeDeadlineMs: deadlineMs }: Config,
  own: Metrics,
  parts: Omit<AdminParts, 'store'>,
): Promise<AdminListener> {
  const { logger } = parts;
  const store =
    admin.tokens.length === 0
      ? undefined
      : watchStore(await openStore(at, { deadlineMs, ...createStoreReporter(logger) }), own);
  try {
    const listener = await listenAdmin({ ...parts, store }, admin.listen);
    return {
      ...listener,
      close: async () => {
        await store?.close();
        await listener.close();
      },
    };
  } catch (error) {
    await store?.close();
    throw error;
  }
}

/**
 * The gateway is ready while one worker is. Connections that were dealt to one that hangs wait in vain until it is killed, but to
 * take everything away from the others would be worse.
 */
function readinessOf(crew: Crew, count: number): Readiness {
  return untilDrained(async () => {
    const reports: ReadinessReport[] = [];
    await crew.ask('readiness', (report) => void reports.push(report));
    const missing = count - reports.length;
    const reasons = new Set(reports.flatMap((report) => report.reasons));
    if (missing > 0) reasons.add(`${missing} of ${count} workers do not answer`);
    return {
      ready: reports.some(({ ready }) => ready),
      readyWithoutStore: reports.some(({ readyWithoutStore }) => readyWithoutStore),
      reasons: [...reasons],
    };
  });
}
