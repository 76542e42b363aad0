import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below what Linux, macOS and Windows give to whoever asks for any port, and to the near end of each connection: a server
 * that was stopped finds its port as it left it. The bus port of a Redis Cluster node, 10000 higher, is below as well.
 */
const first = 10_000;
const count = 10_000;

/** A port of the loopback for a server that cannot choose one itself, also for one that is stopped and started again. */
export async function freePort(): Promise<number> {
  const port = first + Math.floor(Math.random() * count);
  return (await claim(port)) && (await isFree(port)) ? port : freePort();
}

/** Keeps the port from all tests that run beside this one, until the process ends: on UDP, where nothing else needs it. */
async function claim(port: number): Promise<boolean> {
  const socket = createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true });
  try {
    await once(socket, 'listening');
    socket.unref();
    return true;
  } catch {
    socket.close();
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
