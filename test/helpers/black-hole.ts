import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Scene } from './poll.ts';

/** Listens, takes no connection, and never looks up again. */
const deaf = `
const { parentPort } = require('node:worker_threads');
const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** A port where connections are neither taken nor refused: as many wait there already as may. */
export async function openBlackHole(t: Scene): Promise<number> {
  const thread = new Worker(deaf, { eval: true });
  const port = await new Promise<number>((resolve) => thread.once('message', resolve));
  let waiting = 0;
  const sockets = await new Promise<ReturnType<typeof connect>[]>((resolve) => {
    const all = Array.from({ length: 8 }, () =>
      connect(port, '127.0.0.1', () => (waiting += 1) === 2 && resolve(all)).on('error', () => undefined),
    );
  });
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await thread.terminate();
  });
  return port;
}
