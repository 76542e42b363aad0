import { randomBytes } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { createAdmin, listenAdmin, type AdminListener, type AdminParts } from '../admin/admin.ts';
import { createReadiness } from '../admin/readiness.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import { createAnswerer } from '../answer.ts';
import { createApp } from '../app.ts';
import { originFinder } from '../wire/client-address.ts';
import type { Address, Config } from '../config/config.ts';
import { costMax } from '../config/plan-rule.ts';
import { Connections } from '../door/connections.ts';
import { requestHeaderFilter } from '../wire/headers.ts';
import { createJourney } from '../journey.ts';
import { createRecognition } from './recognition.ts';
import { listen, type Unread } from '../door/listener.ts';
import { withholdSecrets } from '../keys/key-format.ts';
import { findKeysInBoth } from '../keys/keys-in-both.ts';
import { describeCause, storeReporter, type Logger } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { endPatienceMs, within } from '../waiting/patience.ts';
import { createWording } from '../refusals.ts';
import { systemClock } from '../waiting/clock.ts';
import type { LeaseCounts } from '../quota/leases/leases.ts';
import { createQuotas, type Quotas } from '../quota/quotas.ts';
import type { Admission } from '../stages/admit.ts';
import { createRouteTable } from '../stages/find-route.ts';
import { openStore } from '../stores/open-store.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import type { Store } from '../stores/store.ts';
import { createSpoolRoom, type SpoolRoom, SpoolUnavailable } from '../uploads/spool.ts';
import { OpenSockets } from '../upstream/open-sockets.ts';
import { createUpstream, type Upstream, type UpstreamEvents } from '../upstream/upstream.ts';
import { watchStore } from '../telemetry/watch-store.ts';

/** A gateway that is up. */
export interface Gateway {
  readonly listen: Address;
  readonly admin: Address;
  /** Which database it works with, if that can be told from others. */
  readonly storeIdentity: string | undefined;
  /**
   * Stops accepting after `drain.delay`, or after the delay that is given, lets what is in flight end within `drain.timeout`, and
   * closes everything, whatever callers and operators do meanwhile.
   */
  drain(delayMs?: number): Promise<void>;
}

/** How the operators' side is reached. A worker has none of its own: the process that leads it asks. */
export type OpenAdmin = (parts: OperatorParts, address: Address) => Promise<AdminListener>;

/** Where the gateway finds itself: alone, or among the workers of one port. */
export interface Setting {
  readonly openAdmin: OpenAdmin;
  readonly listen: Address;
  readonly sharesPort: boolean;
  /** Whether it says for all what is doubtful in the store. */
  readonly isFirst: boolean;
  /** The database that the others work with. */
  readonly storeIdentity?: string | undefined;
}

/** What the operators' side is made of. */
export interface OperatorParts extends AdminParts {
  readonly metrics: Metrics;
}

/** Puts the parts together and opens both ports. Rejects when the store or a port cannot be opened, leaving nothing open. */
export async function startGateway(
  config: Config,
  logger: Logger,
  { openAdmin, listen: address, sharesPort, isFirst, storeIdentity: identity }: Setting = {
    ...alone,
    listen: config.listen,
  },
): Promise<Gateway> {
  const spools = await openSpoolRoom(config);
  const connections = new Connections(config.limits);
  const metrics = createMetrics(connections);
  const opened = await openStore(config.store, {
    deadlineMs: config.storeDeadlineMs,
    identity,
    ...storeReporter(logger),
  });
  const store = watchStore(opened, metrics, logger);
  const quotas = startQuotas(config, store, { metrics, logger });
  const upstreams = createUpstreams(config, { metrics, logger });
  const readiness = createReadiness(store, upstreams.values());
  const sockets = new OpenSockets();
  const wording = createWording(config.errors);
  const keys = createRecognition(config.auth, config.keys, {
    store: store.keys,
    countFailure: metrics.countKeyFailure,
    logger,
  });
  const travel = createJourney({
    connections,
    headRules: { keyHeader: config.auth.header.toLowerCase(), headerCount: config.limits.headerCount },
    recognition: keys,
    routes: createRouteTable(config.routes),
    usage: { path: config.usagePath, plans: config.plans, quotas },
    admission: createAdmission(config, quotas, { metrics, logger }),
    bodyRooms: {
      memory: new BodyMemory(config.limits.bodyMemory),
      spools,
      requestMs: config.limits.requestTimeoutMs,
    },
    forwarding: {
      upstreams,
      passes: requestHeaderFilter(config.auth.header, config.auth.forwardKey),
      forwarded: config.forwarded,
      sockets,
    },
    answer: createAnswerer(wording),
  });
  // Only for the log: a store that is away is no reason not to start, it may come later.
  const isThere = await store.ping().then(
    () => true,
    () => false,
  );
  // The start does not wait for it: thousands of keys may stand in the file.
  const toldKeys = isThere && isFirst ? tellKeysInBoth(config, store, logger) : undefined;
  async function closeParts(): Promise<void> {
    for (const upstream of upstreams.values()) upstream.close();
    await Promise.all([quotas.drain(), keys.close()]);
    tellLosses(quotas.counts, logger);
    await toldKeys;
    await store.close();
  }

  try {
    const admin = await openAdmin(
      { config, store: config.admin.tokens.length === 0 ? undefined : store, logger, readiness, metrics },
      config.admin.listen,
    );
    const listener = await listen({
      address,
      sharesPort,
      limits: config.limits,
      connections,
      wording,
      ...createApp({
        travel,
        findOrigin: originFinder(config.trustProxy),
        logger,
        metrics,
        withhold: withholdSecrets,
      }),
      unreadable: unreadableReporter(logger, metrics),
    }).catch(async (error: unknown) => {
      await admin.close();
      throw error;
    });
    return {
      listen: listener.address,
      admin: admin.address,
      storeIdentity: store.identity,
      drain: async (delayMs = config.drain.delayMs) => {
        readiness.drain();
        connections.endEach();
        const changes = within(endPatienceMs, admin.drain());
        await pause(delayMs);
        sockets.drain(config.drain.timeoutMs);
        await listener.close(config.drain.timeoutMs);
        await changes;
        await closeParts();
        await admin.close();
      },
    };
  } catch (error) {
    await closeParts();
    throw error;
  }
}

const alone = { openAdmin: openAdminPort, sharesPort: false, isFirst: true };

function openAdminPort(parts: AdminParts, address: Address): Promise<AdminListener> {
  return listenAdmin(createAdmin(parts), address);
}

function createUpstreams({ upstreams }: Config, { metrics, logger }: Witnesses): Map<string, Upstream> {
  const events: UpstreamEvents = {
    countError: metrics.countUpstreamError,
    setAside: (upstream, target, cause) =>
      logger.warn({ upstream, target, cause: describeCause(cause) }, 'a target cannot be reached'),
    usedAgain: (upstream, target) => logger.warn({ upstream, target }, 'a target is used again'),
  };
  return new Map([...upstreams].map(([name, upstream]) => [name, createUpstream(upstream, events)]));
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

interface Witnesses {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

function startQuotas(config: Config, { ledger }: Store, { metrics, logger }: Witnesses): Quotas {
  const quotas = createQuotas({
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
  const ids = keys.map(({ id }) => id);
  const keyIds = await findKeysInBoth(ids, store.keys).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  });
  if (keyIds.length === 0) return;
  logger.warn(
    { keyIds },
    'keys of the file are in the store, too: until they are revoked there, both may work',
  );
}

function tellLosses({ owingKeys, waitingSteps }: LeaseCounts, logger: Logger): void {
  if (owingKeys + waitingSteps === 0) return;
  logger.error({ owingKeys, waitingSteps }, 'the store is still away: what was owed is lost');
}

function createAdmission({ plans }: Config, quotas: Quotas, { metrics, logger }: Witnesses): Admission {
  return {
    plans,
    quotas,
    count: metrics.countDecision,
    warn: ({ keyId, plan }, { name, limit, used }) => {
      metrics.countNearLimit(plan, name);
      logger.warn({ keyId, plan, quota: name, used, limit }, 'a key is near its limit');
    },
  };
}

/** A request that could not be parsed has no visit and no response to hang a log line on, so it gets its own. */
function unreadableReporter(logger: Logger, metrics: Metrics) {
  return function report({ requestId, client, status, refusal, cause }: Unread): void {
    metrics.countUnreadable(status, refusal);
    logger.info({ requestId, status, refusal, client, cause: describeCause(cause) }, 'refused');
  };
}
