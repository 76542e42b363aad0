import { setTimeout as pause } from 'node:timers/promises';
import { createAdmin, listenAdmin, type AdminListener, type AdminParts } from '../admin/admin.ts';
import { createReadiness, type Readiness } from '../admin/readiness.ts';
import { createApp } from '../app.ts';
import type { Address, Config } from '../config/config.ts';
import { listen, type Listener } from '../door/listener.ts';
import type { Unread } from '../door/unreadable.ts';
import { withholdSecrets } from '../keys/key-format.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endPatienceMs, within } from '../waiting/patience.ts';
import { closeEdition, openEdition, type Edition } from './edition.ts';
import { closeParts, openParts, type Parts } from './open-parts.ts';
import { tellKeysInBoth } from './tell-keys.ts';

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
  readonly countReload: Metrics['countReload'];
  /**
   * Stops accepting after `drain.delay`, or after the given delay, lets what is in flight finish within `drain.timeout`, and
   * closes everything, whatever callers and operators do meanwhile.
   */
  drain(delayMs?: number): Promise<void>;
}

/** How the operators' side is reached. A worker has no port of its own for it: its leading process asks. */
export type OpenAdmin = (parts: OperatorParts, address: Address) => Promise<AdminListener>;

/** Whether the gateway is alone, or one of the workers on a port. */
export interface Setting {
  readonly openAdmin: OpenAdmin;
  readonly listen: Address;
  readonly sharesPort: boolean;
  /** Whether it reports, for all workers, what is doubtful in the store. */
  readonly speaksForAll: boolean;
  /** The database that the other workers use. */
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
  setting: Setting = { ...alone, listen: config.listen },
): Promise<Gateway> {
  const parts = await openParts({ config, logger, storeIdentity: setting.storeIdentity });
  const current: Current = { edition: openEdition(config, parts), toldKeys: undefined };
  const readiness = createReadiness(parts.store, () => current.edition.upstreams.values());
  const tellKeys = (): void => {
    if (setting.speaksForAll) current.toldKeys = tellKeysInBoth(current.edition.config, parts.store, logger);
  };
  try {
    const ports = await openPorts(parts, { current, readiness, setting });
    tellKeys();
    return {
      listen: ports.listener.address,
      admin: ports.admin.address,
      storeIdentity: parts.store.identity,
      countReload: parts.metrics.countReload,
      reload(next) {
        const before = current.edition;
        current.edition = openEdition(next, parts, before);
        closeEdition(before, current.edition);
        tellKeys();
      },
      drain: (delayMs = current.edition.config.drain.delayMs) =>
        drain(parts, { current, readiness, ports, delayMs }),
    };
  } catch (error) {
    await close(parts, current);
    throw error;
  }
}

/** What is in force now. */
interface Current {
  edition: Edition;
  /** Resolves once the log says which keys are in both the file and the store. The start does not wait for it. */
  toldKeys: Promise<void> | undefined;
}

const alone = { openAdmin: openAdminPort, sharesPort: false, speaksForAll: true };

function openAdminPort(parts: OperatorParts, address: Address): Promise<AdminListener> {
  const { metrics, readiness } = parts;
  metrics.showReadiness(async () => (await readiness.check()).ready);
  return listenAdmin(createAdmin(parts), address);
}

interface Ports {
  readonly admin: AdminListener;
  readonly listener: Listener;
}

interface PortsOptions {
  readonly current: Readonly<Current>;
  readonly readiness: Readiness;
  readonly setting: Setting;
}

async function openPorts(parts: Parts, { current, readiness, setting }: PortsOptions): Promise<Ports> {
  const { logger, metrics, connections } = parts;
  const { config } = current.edition;
  const { openAdmin, listen: address, sharesPort } = setting;
  const store = config.admin.tokens.length === 0 ? undefined : parts.store;
  const operators = { configInForce: () => current.edition.config, store, logger, readiness, metrics };
  const admin = await openAdmin(operators, config.admin.listen);
  try {
    const app = createApp({
      travel: (req, res) => current.edition.travel(req, res),
      findOrigin: (req) => current.edition.findOrigin(req),
      logger,
      metrics,
      withhold: withholdSecrets,
    });
    const listener = await listen({
      address,
      sharesPort,
      limits: config.limits,
      connections,
      wording: (refusal) => current.edition.wording(refusal),
      ...app,
      onUnreadable: createUnreadableReporter(logger, metrics),
    });
    return { admin, listener };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

interface DrainOptions {
  readonly current: Readonly<Current>;
  readonly readiness: Readiness;
  readonly ports: Ports;
  readonly delayMs: number;
}

/**
 * First the senders of requests learn that it is over; then, after the delay that this takes, nothing more is let in and what is
 * in flight finishes. The store is closed once nothing can need it, and operators can watch until the end.
 */
async function drain(parts: Parts, { current, readiness, ports, delayMs }: DrainOptions): Promise<void> {
  const { admin, listener } = ports;
  const { timeoutMs } = current.edition.config.drain;
  readiness.drain();
  parts.connections.endEach();
  const changes = within(endPatienceMs, admin.drain());
  await pause(delayMs);
  parts.sockets.drain();
  await listener.close(timeoutMs);
  await changes;
  await close(parts, current);
  await admin.close();
}

async function close(parts: Parts, { edition, toldKeys }: Readonly<Current>): Promise<void> {
  closeEdition(edition);
  await closeParts(parts, toldKeys);
}

/** A request that could not be parsed has no visit and no response to hang a log line on, so it gets its own. */
function createUnreadableReporter(logger: Logger, metrics: Metrics) {
  return function report({ requestId, client, status, refusal, cause }: Unread): void {
    metrics.countUnreadable(status, refusal);
    logger.info({ requestId, status, refusal, client, cause: describeCause(cause) }, 'refused');
  };
}
