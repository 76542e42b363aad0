import { listenAdmin, type AdminListener } from '../admin/admin.ts';
import { createReadiness, type Readiness } from '../admin/readiness.ts';
import { createApp } from '../app.ts';
import type { Address, Config } from '../config/config.ts';
import type { Connections } from '../door/connections.ts';
import { listen, type Listener } from '../door/listener.ts';
import type { Unread } from '../door/unreadable.ts';
import { withholdSecrets } from '../keys/key-format.ts';
import { findKeysInBoth } from '../keys/keys-in-both.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { Store } from '../stores/store.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { within } from '../waiting/patience.ts';
import { closeEdition, openEdition, type Edition } from './edition.ts';
import { closeParts, openParts, type Parts } from './open-parts.ts';

/** A gateway that is up. */
export interface Gateway {
  readonly listen: Address;
  readonly admin: Address;
  /** Which database it works with, if that can be told from others. */
  readonly storeIdentity: string | undefined;
  /**
   * Uses another configuration from now on, except for what is fixed for the life of the process (`fixed-options.ts`). Its spool
   * has been checked.
   */
  reload(config: Config): void;
  /** Logs which keys are in both the file and the store. A store that is away is not waited for. */
  tellKeysInBoth(): void;
  /** What is being worked on. */
  readonly traffic: Pick<Connections, 'inFlight' | 'whenDone'>;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  /**
   * Stops accepting after `drain.delay`, or once nobody is left to tell of it, lets what is in flight finish within
   * `drain.timeout`, and closes everything, whatever callers and operators do meanwhile.
   */
  drain(deserted?: Promise<void>): Promise<void>;
}

/** Whether the gateway is alone, or one of the workers on a port. */
interface Role {
  /** The process that leads the workers has claimed their port, and answers operators for them. */
  readonly isWorker: boolean;
  readonly listen: Address;
  /** The database that the other workers use. */
  readonly storeIdentity?: string | undefined;
}

/** Puts the parts together and opens both ports. Rejects when the store or a port cannot be opened, leaving nothing open. */
export async function startGateway(
  config: Config,
  logger: Logger,
  role: Role = { isWorker: false, listen: config.listen },
): Promise<Gateway> {
  const parts = await openParts(config, logger, role.storeIdentity);
  const running: Running = {
    parts,
    edition: openEdition(config, parts),
    readiness: createReadiness(parts.store, () => running.edition.upstreams.values()),
    toldKeys: undefined,
  };
  parts.metrics.showHealth(() => running.edition.upstreams.values());
  try {
    const ports = await openPorts(running, role);
    return {
      listen: ports.listener.address,
      admin: ports.admin.address,
      storeIdentity: parts.store.identity,
      traffic: parts.connections,
      metrics: parts.metrics,
      readiness: running.readiness,
      reload(next) {
        const before = running.edition;
        running.edition = openEdition(next, parts, before);
        closeEdition(before, running.edition);
      },
      tellKeysInBoth() {
        running.toldKeys = tellKeysInBoth(running.edition.config, parts.store, logger);
      },
      drain: (deserted = never) => drain(running, ports, deserted),
    };
  } catch (error) {
    await close(running);
    throw error;
  }
}

/** A gateway at work: its parts, and what is in force now. */
interface Running {
  readonly parts: Parts;
  readonly readiness: Readiness;
  edition: Edition;
  /** Resolves once the log says which keys are in both the file and the store. */
  toldKeys: Promise<void> | undefined;
}

interface Ports {
  readonly admin: AdminListener;
  readonly listener: Listener;
}

async function openPorts(running: Running, { isWorker, listen: address }: Role): Promise<Ports> {
  const { logger, metrics, connections } = running.parts;
  const { config } = running.edition;
  const admin = isWorker ? noAdmin(config.admin.listen) : await openAdmin(running);
  try {
    const app = createApp({
      travel: (req, res) => running.edition.travel(req, res),
      findOrigin: (req) => running.edition.findOrigin(req),
      logger,
      metrics,
      withhold: withholdSecrets,
    });
    const listener = await listen({
      address,
      sharesPort: isWorker,
      limits: config.limits,
      connections,
      wording: (refusal) => running.edition.wording(refusal),
      ...app,
      onUnreadable: createUnreadableReporter(logger, metrics),
    });
    return { admin, listener };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

async function openAdmin(running: Running): Promise<AdminListener> {
  const { parts, readiness } = running;
  const { logger, metrics, store } = parts;
  const { listen: address, tokens } = running.edition.config.admin;
  metrics.showReadiness(async () => (await readiness.check()).ready);
  const adminParts = {
    configInForce: () => running.edition.config,
    store: tokens.length === 0 ? undefined : store,
    logger,
    readiness,
    metrics: metrics.registry,
  };
  return await listenAdmin(adminParts, address);
}

function noAdmin(address: Address): AdminListener {
  return { address, drain: async () => undefined, close: async () => undefined };
}

const never = new Promise<void>(() => undefined);

/**
 * First the senders of requests learn that it is over; after the delay that this takes, nothing more is let in and what is in
 * flight finishes. The store is closed once nothing can need it, and operators can watch until the end.
 */
async function drain(running: Running, { admin, listener }: Ports, deserted: Promise<void>): Promise<void> {
  const { parts } = running;
  const { delayMs, timeoutMs } = running.edition.config.drain;
  running.readiness.drain();
  parts.connections.endEach();
  const changes = admin.drain();
  await within(delayMs, deserted);
  parts.sockets.drain();
  await listener.close(timeoutMs);
  await changes;
  await close(running);
  await admin.close();
}

async function close({ parts, edition, toldKeys }: Running): Promise<void> {
  closeEdition(edition);
  await closeParts(parts, toldKeys);
}

async function tellKeysInBoth({ keys }: Config, store: Store, logger: Logger): Promise<void> {
  const keyIds = await findKeysInBoth(keys, store.keys).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  });
  if (keyIds.length === 0) return;
  const words = 'keys of the file are in the store, too: until they are revoked there, both may work';
  logger.warn({ keyIds }, words);
}

/** A request that could not be parsed has no visit and no response to hang a log line on, so it gets its own. */
function createUnreadableReporter(logger: Logger, metrics: Metrics) {
  return function report({ requestId, client, status, refusal, cause }: Unread): void {
    metrics.countUnreadable(status, refusal);
    logger.info({ requestId, status, refusal, client, cause: describeCause(cause) }, 'refused');
  };
}
