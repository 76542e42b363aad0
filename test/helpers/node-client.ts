import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { listen } from './listen.ts';
import type { Scene } from './poll.ts';

/** An answer as a client understood it. */
export interface UnderstoodAnswer {
  readonly status: number;
  readonly raw: readonly string[];
  readonly body: string;
}

/** What Node's own client makes of bytes that an upstream sends before it closes; undefined where it calls them broken. */
export type NodeClient = (method: string, answer: Buffer) => Promise<UnderstoodAnswer | undefined>;

export async function startNodeClient(t: Scene): Promise<NodeClient> {
  let answer = Buffer.alloc(0);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(answer));
  });
  const port = await listen(t, server);
  return async function ask(method, bytes) {
    answer = Buffer.from(bytes);
    const req = request({ port, host: '127.0.0.1', method, agent: false });
    req.on('error', () => undefined);
    try {
      req.end();
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      let body = '';
      for await (const chunk of res as AsyncIterable<Buffer>) body += chunk.toString('latin1');
      return res.complete ? { status: res.statusCode ?? 0, raw: res.rawHeaders, body } : undefined;
    } catch {
      return undefined;
    } finally {
      req.destroy();
    }
  };
}
