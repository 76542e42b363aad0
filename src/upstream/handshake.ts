import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { UpgradeRule } from '../config/config.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { NonsenseAnswer } from './failures.ts';

/** What a client asked for with `Upgrade: websocket`, and what the route allows it. */
export interface Handshake extends UpgradeRule {
  /** Its Sec-WebSocket-Key, to which a true upstream gives the one right answer. */
  readonly key: string;
}

const websocketGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Throws unless an upstream's 101 is the answer to this very handshake. */
export function checkSwitch(answer: IncomingMessage, key: string): void {
  const { headers, statusCode } = answer;
  const accept = createHash('sha1').update(`${key}${websocketGuid}`).digest('base64');
  const switches = statusCode === 101 && headers.upgrade?.toLowerCase() === 'websocket';
  if (!switches || headers['sec-websocket-accept'] !== accept) {
    throw new NonsenseAnswer('it switched protocols without answering the handshake');
  }
}

const heldMax = 64 * 1024;

/**
 * Reads and holds what a client sends before the 101, because it has no meaning until then (CVE-2026-2833 came from passing it on).
 * Reading it is also the only way to notice that the client has left, so one that sends too much is cut off: it should have waited
 * (RFC 6455 §4.1). The function returned puts everything back in front of what is still to come, and reads no further.
 */
export function holdBytes(socket: Socket): () => void {
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
  return function putBack() {
    socket.off('data', hold).off('end', leave).pause();
    socket.unshift(held.take());
  };
}
