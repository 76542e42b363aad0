import { setTimeout as pause } from 'node:timers/promises';
import { createAdmin, listenAdmin, type AdminListener, type AdminParts } from '../admin/admin.ts';
import { createApp } from '../app.ts';
import type { Address, Config } from '../config/config.ts';
import { listen, type Listener } from '../door/listener.ts';
import type { Unread } from '../door/unreadable.ts';
import { createJourney } from '../journey.ts';
import { withholdSecrets } from '../keys/key-format.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endPatienceMs, within } from '../waiting/patience.ts';
import { originFinder } from '../wire/client-address.ts';
import { closeParts, openParts, type Parts } from './open-parts.ts';
import { provisionsOf } from './provisions.ts';

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
  setting: Setting = { ...alone, listen: config.listen },
): Promise<Gateway> {
  const { isFirst, storeIdentity } = setting;
  const parts = await openParts({ config, logger, isFirst, storeIdentity });
  try {
    const ports = await openPorts(parts, setting);
    return {
      listen: ports.listener.address,
      admin: ports.admin.address,
      storeIdentity: parts.store.identity,
      drain: (delayMs = config.drain.delayMs) => drain(parts, ports, delayMs),
    };
  } catch (error) {
    await closeParts(parts);
    throw error;
  }
}

const alone = { openAdmin: openAdminPort, sharesPort: false, isFirst: true };

function openAdminPort(parts: AdminParts, address: Address): Promise<AdminListener> {
  return listenAdmin(createAdmin(parts), address);
}

interface Ports {
  readonly admin: AdminListener;
  readonly listener: Listener;
}

async function openPorts(parts: Parts, { openAdmin, listen: address, sharesPort }: Setting): Promise<Ports> {
  const { config, logger, metrics, readiness, connections, wording } = parts;
  const store = config.admin.tokens.length === 0 ? undefined : parts.store;
  const admin = await openAdmin({ config, store, logger, readiness, metrics }, config.admin.listen);
  try {
    const app = createApp({
      travel: createJourney(provisionsOf(parts)),
      findOrigin: originFinder(config.trustProxy),
      logger,
      metrics,
      withhold: withholdSecrets,
    });
    const unreadable = unreadableReporter(logger, metrics);
    const { limits } = config;
    const listener = await listen({ address, sharesPort, limits, connections, wording, ...app, unreadable });
    return { admin, listener };
  } catch (error) {
    await admin.close();
    throw error;
  }
}

/**
 * First whoever sends requests here hears that it is over; then, after the delay that this takes, nobody is let in any more and
 * what is in flight ends. The store is closed when nobody can need it, and operators see it all until the end.
 */
async function drain(parts: Parts, { admin, listener }: Ports, delayMs: number): Promise<void> {
  const { timeoutMs } = parts.config.drain;
  parts.readiness.drain();
  parts.connections.endEach();
  const changes = within(endPatienceMs, admin.drain());
  await pause(delayMs);
  parts.sockets.drain(timeoutMs);
  await listener.close(timeoutMs);
  await changes;
  await closeParts(parts);
  await admin.close();
}

/** A request that could not be parsed has no visit and no response to hang a log line on, so it gets its own. */
function unreadableReporter(logger: Logger, metrics: Metrics) {
  return function report({ requestId, client, status, refusal, cause }: Unread): void {
    metrics.countUnreadable(status, refusal);
    logger.info({ requestId, status, refusal, client, cause: describeCause(cause) }, 'refused');
  };
}
