import type { Duplex } from 'node:stream';
import { Countdown } from '../../waiting/countdown.ts';
import { afterReading } from '../../waiting/when-all-is-read.ts';
import { gatherPieces } from '../../wire/gather-pieces.ts';
import type { Progress } from '../exchange.ts';
import { GatheringWriter } from '../gathering-writer.ts';
import type { Joined, OpenSocket } from '../open-sockets.ts';

interface Join {
  readonly client: OpenSocket;
  readonly upstream: Duplex;
  readonly idleMs: number;
  readonly progress: Progress;
}

/**
 * Passes bytes both ways, with backpressure, until either side ends or both have been silent for the idle time. The end of one side
 * is passed on, and the other has a moment for its last words: a WebSocket that is open only one way has no meaning (RFC 6455
 * §7.1.1), and would keep its place. It always resolves, and both are closed by then.
 */
export async function joinSockets({ client, upstream, idleMs, progress }: Join): Promise<void> {
  const { socket } = client;
  // When the upstream ends, Node would end our side to it too: what the client still sends would fail, and cut short what it is
  // still being sent.
  upstream.allowHalfOpen = true;
  await new Promise<void>((resolve) => {
    const toClient = new GatheringWriter(socket);
    let open = 2;
    const idle = new Countdown(idleMs, closeBoth);
    idle.start();
    let stopWaiting: (() => void) | undefined;
    function closeBoth(): void {
      toClient.flush(); // a write after the end would cost the client what was written before it
      socket.destroySoon();
      upstream.destroy();
    }
    const joined: Joined = { activeAt: performance.now(), close: closeBoth };
    client.joined = joined;
    function active(): void {
      joined.activeAt = performance.now();
      idle.start();
    }
    function ended(): void {
      stopWaiting ??= afterReading(lastWordsMs, closeBoth);
    }
    function closed(): void {
      closeBoth();
      open -= 1;
      if (open > 0) return;
      idle.end();
      stopWaiting?.();
      resolve();
    }
    for (const side of [socket, upstream]) {
      side.on('data', active).on('error', closeBoth).once('end', ended).once('close', closed);
    }
    socket.on('data', (chunk: Buffer) => (progress.bytesIn += chunk.length));
    upstream.on('data', (chunk: Buffer) => (progress.bytesOut += chunk.length));
    passOn(socket, upstream, new GatheringWriter(upstream));
    passOn(upstream, socket, toClient);
  });
}

/** Passes on to one side what the other sends, and its end. Pieces of one byte that have to wait take no more memory than their bytes. */
function passOn(from: Duplex, to: Duplex, writer: GatheringWriter): void {
  gatherPieces(from);
  from.on('data', (chunk: Buffer) => {
    if (!writer.write(chunk)) from.pause();
  });
  from.once('end', () => {
    writer.flush();
    to.end();
  });
  to.on('drain', () => from.resume());
  from.resume();
}

const lastWordsMs = 3000;
