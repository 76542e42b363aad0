import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';
import type { Scene } from './poll.ts';

/**
 * Says what the upstream does once a whole request is there, and again for each further request on the
 * connection. Connections count from 0; those on which nothing was sent do not, as a gateway only tries them.
 */
export type RawScript = (socket: Socket, requestBytes: Buffer, connectionIndex: number) => void;

/** An upstream that can answer with any nonsense. */
export interface RawUpstream {
  readonly port: number;
  readonly url: string;
  /** All bytes received, one entry for each connection in the order in which they began to send. */
  readonly received: Buffer[];
  /** The open connections; the one that began to send last is the last. */
  readonly sockets: ReadonlySet<Socket>;
  script: RawScript;
  close(): Promise<void>;
}

/** Starts the upstream on a free loopback port; without a script it accepts, reads and never answers. */
export async function startRawUpstream(t: Scene, script: RawScript = () => {}): Promise<RawUpstream> {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    let index = -1;
    let request = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      index = received.push(Buffer.alloc(0)) - 1;
      sockets.delete(socket);
      sockets.add(socket);
    });
    socket.on('data', (chunk: Buffer) => {
      received[index] = Buffer.concat([received[index]!, chunk]);
      request = Buffer.concat([request, chunk]);
      if (!isWhole(request)) return;
      const bytes = request;
      request = Buffer.alloc(0);
      upstream.script(socket, bytes, index);
    });
  });
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.after(close);
  const port = await listen(t, server);
  const upstream: RawUpstream = { port, url: `http://127.0.0.1:${port}`, received, sockets, script, close };
  return upstream;
}

/** Whole when the headers are there and as much body as Content-Length or the last chunk says. */
function isWhole(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const head = bytes.subarray(0, headEnd).toString('latin1');
  if (/^transfer-encoding:.*chunked/im.test(head)) return bytes.includes('\r\n0\r\n\r\n', headEnd + 2);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return bytes.length >= headEnd + 4 + length;
}
