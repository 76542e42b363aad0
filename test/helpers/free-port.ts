import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** The kernel may offer again what nobody listens on yet. */
const given = new Set<number>();

/** A port of the loopback that was free a moment ago, for a server that cannot choose one itself. Never the same twice. */
export async function freePort({ below = 65_536 }: { readonly below?: number } = {}): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  if (port >= below || given.has(port)) return freePort({ below });
  given.add(port);
  return port;
}
