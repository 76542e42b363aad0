import { randomBytes } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createReadiness, type Readiness } from '../admin/readiness.ts';
import type { Config } from '../config/config.ts';
import { costMax } from '../config/plan-rule.ts';
import { Connections } from '../door/connections.ts';
import { findKeysInBoth } from '../keys/keys-in-both.ts';
import type { LeaseCounts } from '../quota/leases/leases.ts';
import { Quotas } from '../quota/quotas.ts';
import { createWording, type Wording } from '../refusals.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import { openStore } from '../stores/open-store.ts';
import type { Store } from '../stores/store.ts';
import { describeCause, storeReporter, type Logger } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { watchStore } from '../telemetry/watch-store.ts';
import { createSpoolRoom, type SpoolRoom, SpoolUnavailable } from '../uploads/spool.ts';
import { OpenSockets } from '../upstream/open-sockets.ts';
import { createUpstream, type Upstream, type UpstreamEvents } from '../upstream/upstream.ts';
import { systemClock } from '../waiting/clock.ts';
import { createKeyCheck, type OpenKeyCheck } from './key-check.ts';

/** All that a gateway works with, before it has a port. */
export interface Parts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly connections: Connections;
  readonly store: Store;
  readonly quotas: Quotas;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly keyCheck: OpenKeyCheck;
  readonly readiness: Readiness;
  readonly sockets: OpenSockets;
  readonly spools: SpoolRoom;
  readonly wording: Wording;
  /** Resolves when it has been told which keys stand in the file and in the store. The start does not wait for it. */
  readonly toldKeys: Promise<void> | undefined;
}

export interface PartsOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** Whether this process says for all what is doubtful in the store. */
  readonly isFirst: boolean;
  /** The database that the other workers work with. */
  readonly storeIdentity: string | undefined;
}

/** Opens the store and makes what works with it. Rejects, with nothing left open, when the store or the spool cannot be used. */
export async function openParts({ config, logger, isFirst, storeIdentity }: PartsOptions): Promise<Parts> {
  const spools = await openSpoolRoom(config);
  const connections = new Connections(config.limits);
  const metrics = createMetrics(connections);
  const opened = await openStore(config.store, {
    deadlineMs: config.storeDeadlineMs,
    identity: storeIdentity,
    ...storeReporter(logger),
  });
  const store = watchStore(opened, metrics, logger);
  const quotas = startQuotas(config, store, { metrics, logger });
  const upstreams = createUpstreams(config, { metrics, logger });
  const readiness = createReadiness(store, upstreams.values());
  const keyCheck = createKeyCheck(config.auth, config.keys, {
    store: store.keys,
    countFailure: metrics.countKeyFailure,
    logger,
  });
  return {
    config,
    logger,
    metrics,
    connections,
    store,
    quotas,
    upstreams,
    keyCheck,
    readiness,
    spools,
    sockets: new OpenSockets(),
    wording: createWording(config.errors),
    toldKeys: (await isThere(store)) && isFirst ? tellKeysInBoth(config, store, logger) : undefined,
  };
}

/** Gives back what is held of quotas, tells of what could not be given back, and closes the store last. */
export async function closeParts({
  upstreams,
  quotas,
  keyCheck,
  store,
  logger,
  toldKeys,
}: Parts): Promise<void> {
  for (const upstream of upstreams.values()) upstream.close();
  await Promise.all([quotas.drain(), keyCheck.close()]);
  tellLosses(quotas.counts, logger);
  await toldKeys;
  await store.close();
}

/** Only for the log: a store that is away is no reason not to start, it may come later. */
function isThere(store: Store): Promise<boolean> {
  return store.ping().then(
    () => true,
    () => false,
  );
}

/** Found out at the start and not by the first upload: the folder has to take files. */
async function openSpoolRoom({ spool, routes }: Config): Promise<SpoolRoom> {
  const directory = spool.directory ?? tmpdir();
  const room = createSpoolRoom({
    memoryEachMax: spoolMemoryEachMax,
    memoryMax: spool.memory,
    diskMax: spool.disk,
    directory,
  });
  const used = routes.some(({ body }) => body.kind === 'upload' && body.rule.forward === 'whole');
  if (!used) return room;
  try {
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new SpoolUnavailable(directory, cause);
  }
  return room;
}

/** A larger upload waits in a file: the system keeps it in memory as long as there is room, and takes it back when not. */
const spoolMemoryEachMax = 128 * 1024;

function createUpstreams({ upstreams }: Config, { metrics, logger }: Witnesses): Map<string, Upstream> {
  const events: UpstreamEvents = {
    countError: metrics.countUpstreamError,
    setAside: (upstream, target, cause) =>
      logger.warn({ upstream, target, cause: describeCause(cause) }, 'a target cannot be used'),
    usedAgain: (upstream, target) => logger.warn({ upstream, target }, 'a target is used again'),
  };
  return new Map([...upstreams].map(([name, upstream]) => [name, createUpstream(upstream, events)]));
}

interface Witnesses {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

function startQuotas(config: Config, { ledger }: Store, { metrics, logger }: Witnesses): Quotas {
  const quotas = new Quotas({
    ledger,
    clock: systemClock,
    holder: randomBytes(9).toString('base64url'),
    deadlineMs: config.storeDeadlineMs,
    costMax,
    onError: (error) => logger.error({ cause: describeCause(error) }, 'a fault in the quotas'),
  });
  metrics.showLeases(() => quotas.counts);
  return quotas;
}

async function tellKeysInBoth({ keys }: Config, store: Store, logger: Logger): Promise<void> {
  const keyIds = await findKeysInBoth(keys, store.keys).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  });
  if (keyIds.length === 0) return;
  logger.warn(
    { keyIds },
    'keys of the file are in the store, too: until they are revoked there, both may work',
  );
}

function tellLosses({ owingKeys, waitingSteps, droppedSteps }: LeaseCounts, logger: Logger): void {
  if (owingKeys + waitingSteps === 0) return;
  logger.error({ owingKeys, waitingSteps, droppedSteps }, 'the store is still away: what was owed is lost');
}
