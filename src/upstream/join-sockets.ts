import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { gatherPieces } from '../wire/gather-pieces.ts';
import { writeSwitchHead } from './answer-head.ts';
import { NonsenseAnswer } from './failures.ts';
import { GatheringWriter } from './gathering-writer.ts';
import type { Joined, OpenSocket } from './open-sockets.ts';
import type { Progress } from './exchange.ts';
import { sendHead } from '../wire/send-head.ts';
import { Countdown } from '../waiting/countdown.ts';

/** What a client asked for with `Upgrade: websocket`, and what the route allows it. */
export interface Handshake {
  /** Its Sec-WebSocket-Key, to which a true upstream gives the one right answer. */
  readonly key: string;
  readonly idleMs: number;
  readonly socketsMax: number;
}

/** Throws unless an upstream's 101 is the answer to this very handshake. */
export function checkSwitch(answer: IncomingMessage, key: string): void {
  const { headers, statusCode } = answer;
  const accept = createHash('sha1').update(`${key}${websocketGuid}`).digest('base64');
  const switches = statusCode === 101 && headers.upgrade?.toLowerCase() === 'websocket';
  if (!switches || headers['sec-websocket-accept'] !== accept) {
    throw new NonsenseAnswer('it switched protocols without answering the handshake');
  }
}

/** Tells the client that the protocol is switched; from here on its socket carries no HTTP. */
export function writeSwitch(
  res: ServerResponse,
  raw: readonly string[],
  ourHeaders: readonly string[],
): void {
  writeSwitchHead(res, { raw, ourHeaders });
  // Not ended: the request is over, and is logged, when its socket closes.
  sendHead(res);
  if (res.socket !== null) res.detachSocket(res.socket);
}

/** What a client sends before its upgrade is answered. */
export interface HeldBytes {
  /** Puts everything back in front of what is still to come, and reads no further. */
  readonly putBack: () => void;
}

/**
 * Reads and holds what a client sends before the 101, because it has no meaning until then (CVE-2026-2833 came from passing it on).
 * Reading it is also the only way to notice that the client has left, so one that sends too much is cut off: it should have waited
 * (RFC 6455 §4.1).
 */
export function holdBytes(socket: Socket): HeldBytes {
  const held = new CollectedBytes(heldMax);
  function hold(chunk: Buffer): void {
    held.takeOver(chunk);
    if (held.length > heldMax) socket.destroy();
  }
  function leave(): void {
    socket.destroy();
  }
  socket.on('data', hold).on('end', leave);
  // It may have ended while its key was looked up, and its `end` is not emitted twice.
  if (socket.readableEnded) leave();
  return {
    putBack: () => {
      socket.off('data', hold).off('end', leave).pause();
      if (held.length > 0) socket.unshift(held.take());
    },
  };
}

/** Two sockets that are about to be one. */
export interface Join {
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
    let lastWords: NodeJS.Timeout | undefined;
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
      lastWords ??= setTimeout(closeBoth, lastWordsMs);
    }
    function closed(): void {
      closeBoth();
      open -= 1;
      if (open > 0) return;
      idle.end();
      clearTimeout(lastWords);
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

// --- Internal ---

const heldMax = 64 * 1024;
const lastWordsMs = 3000;
const websocketGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
