import type { IncomingMessage, ServerResponse } from 'node:http';
import { linger } from './linger.ts';
import { sendHead } from './send-head.ts';

const shortBodyMax = 64 * 1024;

/**
 * Whether more may come of the request than Node may be left to read on to: of a body without end it would read for as long as that
 * comes. The rest of a short one is let through and the connection goes on; behind any other it must end.
 */
export function mustBeReadFirst(req: IncomingMessage): boolean {
  if (req.complete || req.socket.readableEnded) return false; // nothing more comes
  if (req.headers['transfer-encoding'] !== undefined || req.headers.expect !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > shortBodyMax;
}

/** The whole answer goes out, and ends when nothing more comes. Its head has said that the connection ends. */
export function answerWhileItSends(req: IncomingMessage, res: ServerResponse, body: string): void {
  if (req.method === 'HEAD') sendHead(res);
  res.write(body, () => {
    req.visit.outAt = performance.now();
  });
  linger(req, () => res.end());
}
