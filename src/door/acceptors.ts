import { once } from 'node:events';
import { createServer, Server, type AddressInfo, type Socket } from 'node:net';
import { platform } from 'node:os';
import { setImmediate as turnOver } from 'node:timers/promises';
import type { Address } from '../config/config.ts';
import { codeOf } from '../content/error-code.ts';
import type { Connections } from './connections.ts';

/** Takes the connections of a server. */
interface Acceptors {
  readonly address: Address;
  /** Takes those that wait at the port, for about that long at most. Call it before `close`. */
  takeWaiting(patienceMs: number): Promise<void>;
  /** Takes no more. Idle ones are left to the server. Resolves when the last one is gone. */
  close(): Promise<void>;
}

interface AcceptorsOptions {
  readonly address: Address;
  /** The process that leads this one has claimed the port for all of its workers. */
  readonly sharesPort: boolean;
  /** Asked before a connection is handed to the server. */
  readonly connections: Pick<Connections, 'hasRoom' | 'refuse'>;
}

/**
 * Linux deals the connections of a port out evenly among those that listen there. Elsewhere the process that leads the workers
 * does, which is second choice: a connection that it hands to a worker in the moment of that worker's death is answered by nobody.
 */
const kernelDeals = platform() === 'linux';

/**
 * One socket takes one connection in each turn of the event loop (libuv #3696). Under load a turn lasts tens of milliseconds: of
 * 512 clients that came at once some waited for seconds, with p99 at 1.4 s. With 16 sockets it was 0.3 s, but of a thousand clients
 * the last still waited for 2 s; with 64 for 1.3 s.
 */
const socketsPerPort = 64;

/** Opens the port of a server. Rejects when somebody else has it. */
export async function openAcceptors(server: Server, options: AcceptorsOptions): Promise<Acceptors> {
  const { address, sharesPort, connections } = options;
  if (!kernelDeals) {
    await once(server.listen(address), 'listening');
    return acceptorsOf([server]);
  }
  const claim = sharesPort || address.port === 0 ? undefined : await claimPort(address);
  // What http.Server asks of its own sockets.
  const others = Array.from({ length: socketsPerPort - 1 }, () =>
    createServer({ allowHalfOpen: true, noDelay: true }, take),
  );
  function take(socket: Socket): void {
    if (connections.hasRoom) server.emit('connection', socket);
    else connections.refuse(socket);
  }
  const servers = [server, ...others] as const;
  try {
    await once(server.listen({ ...address, reusePort: true }), 'listening');
    // A name may mean several addresses: all listen where the first does.
    const { address: host, port } = server.address() as AddressInfo;
    await Promise.all(
      others.map((other) => once(other.listen({ host, port, reusePort: true }), 'listening')),
    );
  } catch (error) {
    for (const each of servers) each.close();
    claim?.release();
    throw error;
  }
  return acceptorsOf(servers, claim);
}

/** A port that no other gateway opens until it is released. */
interface Claim {
  readonly port: number;
  /** To be called once somebody listens there. */
  makeWay(): void;
  release(): void;
}

/**
 * Sockets that share a port would share it with another gateway's too, and nobody would notice. So a socket that does not share is
 * bound to the port first, which shows that nobody else has it. Before this socket makes way for those that share, a lock is taken,
 * which keeps other gateways from doing the same. The lock is a socket with a name in place of a file: the kernel takes it back when
 * the process ends, however it ends. Where 0 is asked for, the kernel gives a port that nobody has, and could give it to anybody as
 * soon as it is let go of: there the first socket shares too, and stays until others listen.
 */
export async function claimPort(address: Address): Promise<Claim> {
  const stays = kernelDeals && address.port === 0;
  const server = createServer((socket) => socket.destroy());
  await once(server.listen({ ...address, reusePort: stays }), 'listening');
  const bound = server.address() as AddressInfo;
  try {
    const lock = kernelDeals ? await takeLock(bound) : undefined;
    return { port: bound.port, makeWay: () => void server.close(), release: () => lock?.close() };
  } finally {
    if (!stays) await once(server.close(), 'close');
  }
}

/**
 * The lock is named by what the kernel calls the address, which can be written in several ways. A process that may not have such a
 * socket (as under systemd's RestrictAddressFamilies without AF_UNIX) does without.
 */
async function takeLock({ address, port }: AddressInfo): Promise<Server | undefined> {
  const host = address.replace(/^::ffff:/, '');
  const lock = createServer((socket) => socket.destroy()).unref();
  try {
    await once(lock.listen({ path: `\0gatehouse ${host}:${port}` }), 'listening');
  } catch (cause) {
    const code = codeOf(cause) ?? '';
    if (mayNot.has(code)) return undefined;
    if (code !== 'EADDRINUSE') throw cause;
    const taken = new Error(`listen EADDRINUSE ${host}:${port}`, { cause });
    throw Object.assign(taken, { code: 'EADDRINUSE', syscall: 'listen', address: host, port });
  }
  return lock;
}

/** How the system says that a process may not have such a socket. */
const mayNot = new Set(['EAFNOSUPPORT', 'EPERM', 'EACCES']);

function acceptorsOf(servers: readonly [Server, ...Server[]], claim?: Claim): Acceptors {
  const { address: host, port } = servers[0].address() as AddressInfo;
  return {
    address: { host, port },
    takeWaiting: (patienceMs) => takeWaiting(servers, patienceMs),
    close: async () => {
      const connectionsGone = Promise.all(servers.map(closePort));
      // Another gateway may take the port while this one still answers what it has.
      claim?.release();
      await connectionsGone;
    },
  };
}

/** If connections still come after so many turns, they will not stop coming. */
const turnsMax = 64;
/** The first turn may have been half over, and have taken none any more. */
const turnsMin = 2;

/** Closing a port resets the connections that wait there, which may have sent requests. Each turn of the event loop takes some. */
async function takeWaiting(servers: readonly Server[], patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs;
  let quietTurns = 0;
  const take = (): void => void (quietTurns = 0);
  for (const server of servers) server.on('connection', take);
  for (let turn = 0; turn < turnsMax && quietTurns < turnsMin; turn += 1) {
    if (turn >= turnsMin && performance.now() >= until) break;
    quietTurns += 1;
    await turnOver();
  }
  for (const server of servers) server.off('connection', take);
}

/**
 * Unlike `http.Server`'s own way, leaves idle connections open: the next request may be on its way already. And Node goes on looking
 * for heads that are late: half of one would hold up the whole drain.
 */
async function closePort(server: Server): Promise<void> {
  await once(Server.prototype.close.call(server), 'close');
}
