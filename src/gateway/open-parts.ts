import { randomBytes } from 'node:crypto';
import { BodyMemory } from '../bodies/body-memory.ts';
import type { Config } from '../config/config.ts';
import { Connections } from '../door/connections.ts';
import { Quotas } from '../quota/quotas.ts';
import { openStore } from '../stores/open-store.ts';
import type { Store } from '../stores/store.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import { createMetrics, type LeaseCounts, type Metrics } from '../telemetry/metrics.ts';
import { createStoreReporter } from '../telemetry/report-store.ts';
import { watchStore } from '../telemetry/watch-store.ts';
import { createSpoolRoom, type SpoolRoom } from '../uploads/spool.ts';
import { OpenSockets } from '../upstream/open-sockets.ts';
import type { UpstreamEvents } from '../upstream/upstream.ts';
import { systemClock } from '../waiting/clock.ts';
import { within } from '../waiting/patience.ts';
import { checkSpool } from './check-spool.ts';
import { openKeyChecks, type KeyChecks } from './key-checks.ts';

/** What a gateway works with all its life, whatever its configuration. */
export interface Parts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly connections: Connections;
  readonly store: Store;
  readonly quotas: Quotas;
  readonly keyChecks: KeyChecks;
  readonly upstreamEvents: UpstreamEvents;
  readonly sockets: OpenSockets;
  readonly bodyMemory: BodyMemory;
  readonly spools: SpoolRoom;
}

/** The size of the pieces in which larger uploads go to files: each is two trips between threads (record 27). */
const spoolPieceMax = 256 * 1024;

/** What share of `spool.memory` one upload may fill. One that goes to a file takes half as much CPU again (record 27). */
const spoolShareMax = 1 / 16;

/** Opens the store and makes what works with it. Rejects, with nothing left open, when the store or the spool cannot be used. */
export async function openParts(
  config: Config,
  logger: Logger,
  storeIdentity: string | undefined,
): Promise<Parts> {
  await checkSpool(config);
  const connections = new Connections(config.limits);
  const metrics = createMetrics(connections);
  const opened = await openStore(config.store, {
    deadlineMs: config.storeDeadlineMs,
    identity: storeIdentity,
    ...createStoreReporter(logger),
  });
  const store = watchStore(opened, metrics, logger);
  const quotas = startQuotas(config, store, logger);
  metrics.showLeases(() => quotas.counts);
  const keyChecks = openKeyChecks({
    store: store.keys,
    countFailure: metrics.countKeyFailure,
    logger,
  });
  const spools = createSpoolRoom({
    ...config.spool,
    pieceMax: spoolPieceMax,
    wholeMax: config.spool.memoryMax * spoolShareMax,
  });
  metrics.showSpool(spools);
  const bodyMemory = new BodyMemory(config.limits.bodyMemory);
  metrics.showBodyMemory(bodyMemory);
  // Only for the log: a store that is away does not prevent the start, it may come later.
  await store.ping().catch(() => undefined);
  return {
    logger,
    metrics,
    connections,
    store,
    quotas,
    keyChecks,
    upstreamEvents: upstreamEventsOf({ metrics, logger }),
    sockets: new OpenSockets(),
    bodyMemory,
    spools,
  };
}

/** How long a look into the store may still take at the end: if the store is silent it would take all of `storeDeadline`. */
const lastLookMs = 1000;

/**
 * Gives back what is held of quotas, logs what could not be given back, and closes the store last. A look that is under way has a
 * moment to finish.
 */
export async function closeParts(
  { quotas, keyChecks, store, logger }: Parts,
  look: Promise<void> | undefined,
): Promise<void> {
  const { droppedSteps } = quotas.counts;
  await Promise.all([quotas.drain(), keyChecks.close(), look && within(lastLookMs, look)]);
  tellLosses(quotas.counts, droppedSteps, logger);
  await store.close();
}

function upstreamEventsOf({ metrics, logger }: Pick<Parts, 'metrics' | 'logger'>): UpstreamEvents {
  return {
    countError: metrics.countUpstreamError,
    setAside: (upstream, target, cause) =>
      logger.warn({ upstream, target, cause: describeCause(cause) }, 'a target cannot be used'),
    usedAgain: (upstream, target) => logger.warn({ upstream, target }, 'a target is used again'),
    unhealthy: (upstream, target, cause) =>
      logger.warn({ upstream, target, cause: describeCause(cause) }, 'a target is not healthy'),
    healthyAgain: (upstream, target) => logger.warn({ upstream, target }, 'a target is healthy again'),
  };
}

function startQuotas(config: Config, { ledger }: Store, logger: Logger): Quotas {
  return new Quotas({
    ledger,
    clock: systemClock,
    holder: randomBytes(9).toString('base64url'),
    deadlineMs: config.storeDeadlineMs,
    onError: (error) => logger.error({ cause: describeCause(error) }, 'a fault in the quotas'),
  });
}

function tellLosses(
  { owingKeys, waitingSteps, droppedSteps }: LeaseCounts,
  droppedBefore: number,
  logger: Logger,
): void {
  if (owingKeys === 0 && waitingSteps === 0 && droppedSteps === droppedBefore) return;
  logger.error({ owingKeys, waitingSteps, droppedSteps }, 'the store is still away: what was owed is lost');
}
