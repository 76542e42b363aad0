import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Scene } from './poll.ts';

/** Has the server listen on the loopback, at a port that the system chooses and this returns. It is closed with the scene. */
export async function listen(scene: Scene, server: Server): Promise<number> {
  scene.after(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
