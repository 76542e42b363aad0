import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { Countdown } from '../waiting/countdown.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { bodyBroken, brokenBy } from './broken-body.ts';
import { sendHead } from './send-head.ts';

/**
 * How much of what a client still sends is read and thrown away, so that it gets to read its answer. wget, Perl, Java and Python's
 * http.client look for none before they have sent everything. nginx reads for 30 s, however much that is.
 */
const bytesMax = 128 * 1024 * 1024;
/** For how long, and how long it may be silent. An upload of 12 MB over 7 Mbit/s arrives in 15 s. */
const totalMs = 15_000;
const silenceMs = 3000;
/** A chunk counts as at least this much, because small ones cost more than their bytes. */
const chunkCost = 8192;

/**
 * Closing on a client that is still sending makes its kernel throw the answer away unread (a reset). So what still comes is
 * thrown away, within bounds, and the connection is closed only after that.
 */
export function linger(from: Readable, whenOver: () => void): void {
  let left = bytesMax;
  const silence = new Countdown(silenceMs, over);
  silence.start();
  const stopTotal = afterReading(totalMs, over);
  function discard(chunk: Buffer): void {
    silence.start();
    left -= Math.max(chunk.length, chunkCost);
    if (left < 0) over();
  }
  function over(): void {
    silence.end();
    stopTotal();
    from.off('data', discard).off('end', over).off('close', over).off(bodyBroken, over);
    whenOver();
  }
  from.on('data', discard).on('end', over).on('close', over).on(bodyBroken, over).resume();
}

/**
 * Sends the whole answer to a request of which more may come, and ends it when nothing more does. Its head has said that the
 * connection ends: Node would end it at once, and what still comes would reset it.
 */
export function endOnceRead(res: ServerResponse, body: string, whenWritten?: () => void): void {
  const { req } = res;
  if (req.method === 'HEAD' || body === '') sendHead(res);
  res.write(body, whenWritten);
  // A parser that has given up goes on reading the connection and tells nobody.
  linger(brokenBy(req) === undefined ? req : withoutParser(req.socket), () => {
    // Behind a request that came to its end a client may have sent others, and not read its answer yet.
    if (req.complete) endReadablyAfterLast(req.socket);
    res.end();
  });
}

/** Ends a connection from which nothing more is taken. A client that still sends gets to read the last words, if there are any. */
export function endReadably(socket: Duplex, lastWords?: string): void {
  if (socket.destroyed) return;
  socket.end(lastWords);
  linger(withoutParser(socket), () => socket.destroy());
}

/**
 * Has a connection end in that way behind its last answer. After an answer that says that the connection ends, Node calls
 * `destroySoon`, which would end it at once.
 */
export function endReadablyAfterLast(socket: Socket): void {
  socket.destroySoon = () => endReadably(socket);
}

/**
 * Its readers get nothing more. Where Node has stopped a connection because nobody took its body, only its own listener for this event
 * starts it again, and Node takes that off with the parser (26.12): for the stream it had never stopped.
 */
function withoutParser<Read extends Readable>(socket: Read): Read {
  socket.emit('resume');
  return socket.removeAllListeners('data');
}
