import type { ServerResponse } from 'node:http';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';
import { endOnceRead, endReadablyAfterLast } from './linger.ts';

interface JsonAnswer {
  readonly status: number;
  readonly body: string;
  /** Names and values in turn, besides those that every such answer has. */
  readonly headers: readonly string[];
  /** Nothing can follow on the connection. */
  readonly isLast: boolean;
}

/** Sends an answer of our own. It belongs to one caller, so nobody may store it. */
export function sendJson(res: ServerResponse, answer: JsonAnswer): void {
  const { status, body, headers } = answer;
  const stillSends = answer.isLast || mustBeReadFirst(res);
  if (stillSends) res.shouldKeepAlive = false;
  res.writeHead(status, [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
    ...headers,
  ]);
  if (!stillSends) {
    // Behind a request that was not asked to go on Node ends the connection, though all of it may have come.
    if (res.req.headers.expect !== undefined) endReadablyAfterLast(res.req.socket);
    whenAllIsRead(() => res.end(body));
    return;
  }
  endOnceRead(res, body, () => {
    res.req.visit.outAt = performance.now();
  });
}

const shortBodyMax = 64 * 1024;

/**
 * Whether more of the request may come than Node may be left to read: it would read a body without end for as long as that comes.
 * The rest of a short one is let through and the connection goes on; after any other it must end. Where it ends anyway, Node would
 * end it at once, whatever still comes.
 */
function mustBeReadFirst(res: ServerResponse): boolean {
  const { req } = res;
  if (req.complete || req.socket.readableEnded) return false; // nothing more comes
  const { 'transfer-encoding': coding, 'content-length': length, expect } = req.headers;
  if (coding !== undefined) return true;
  return Number(length ?? 0) > (res.shouldKeepAlive && expect === undefined ? shortBodyMax : 0);
}
