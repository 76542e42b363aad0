import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { platform } from 'node:os';
import type { Address } from './config/config.ts';

/** Takes the connections of a server. */
export interface Acceptors {
  readonly address: Address;
  /** Takes no more. Resolves when the last connection is gone. */
  close(): Promise<void>;
}

/**
 * Only Linux deals the connections of a port out evenly among those that listen there. Elsewhere the process that leads the workers does. A
 * connection that it hands to a worker in the moment of that worker's death is answered by nobody, which is why it is second choice.
 */
const kernelDeals = platform() === 'linux';

/**
 * One socket takes one connection in each turn of the event loop (libuv #3696). Under load a turn lasts tens of milliseconds: of
 * 512 clients that came at once some waited for seconds, with p99 at 1.4 s. With 16 sockets it was 0.3 s.
 */
const socketsPerPort = 16;

/**
 * Connections that may wait to be taken, as far as the system allows. Of those beyond it the client hears only after a second, when it
 * asks again: with Node's 511 a burst of 512 was enough.
 */
const backlog = 4096;

/** Opens the port of a server, which other processes may share. One that is not shared is bound by nobody else, or this rejects. */
export async function openAcceptors(
  server: Server,
  address: Address,
  sharesPort: boolean,
): Promise<Acceptors> {
  if (!kernelDeals) {
    await listening(server, address);
    return acceptorsOf([server]);
  }
  const port = sharesPort || address.port === 0 ? address.port : await claimPort(address);
  await listening(server, { ...address, port, reusePort: true });
  const bound = { ...address, port: portOf(server), reusePort: true };
  // What http.Server asks of its own sockets.
  const options = { allowHalfOpen: true, noDelay: true };
  const others = Array.from({ length: socketsPerPort - 1 }, () =>
    createServer(options, (socket) => server.emit('connection', socket)),
  );
  const acceptors = acceptorsOf([server, ...others]);
  try {
    await Promise.all(others.map((other) => listening(other, bound)));
    return acceptors;
  } catch (error) {
    await acceptors.close();
    throw error;
  }
}

/**
 * Binds a port, a free one if 0 is asked for, and lets it go. Those who share a port would share it with another gateway too, and
 * nobody would notice: bound once by itself, it is known to be nobody's.
 */
export async function claimPort(address: Address): Promise<number> {
  const server = createServer();
  await listening(server, address);
  const port = portOf(server);
  await closed(server);
  return port;
}

function acceptorsOf(servers: readonly [Server, ...Server[]]): Acceptors {
  const { address: host, port } = servers[0].address() as AddressInfo;
  return {
    address: { host, port },
    close: async () => {
      await Promise.all(servers.map(closed));
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function listening(server: Server, options: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ backlog, ...options }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

/** A server that does not listen is closed. */
async function closed(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
