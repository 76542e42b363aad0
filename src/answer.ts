import type { IncomingMessage, ServerResponse } from 'node:http';
import { breakOff } from './break-off.ts';
import { addHeaders } from './headers.ts';
import { linger } from './linger.ts';
import { Refusal, type RefusalCode, type Wording } from './refusals.ts';
import { sendHead } from './send-head.ts';
import { whenAllIsRead } from './when-all-is-read.ts';

const shortBodyMax = 64 * 1024;

export type Answerer = (req: IncomingMessage, res: ServerResponse, error: unknown) => void;

/**
 * The one place that makes a response of a Refusal. Anything else that was thrown becomes `internal` with fixed words:
 * what went wrong inside is for the log alone.
 */
export function createAnswerer(wording: Wording): Answerer {
  return function answer(req, res, error) {
    if (req.visit.cut === 'gateway') {
      // We cut the connection: that the client is gone is no news, and not its doing.
      res.destroy();
      return;
    }
    const refusal = error instanceof Refusal ? error : new Refusal('internal', { cause: error });
    req.visit.refusal = refusal.code;
    req.visit.cause = refusal.cause ?? (refusal.detail === undefined ? undefined : refusal);
    if (res.headersSent || res.destroyed || refusal.code === 'client_gone') {
      breakOff(res);
      return;
    }
    const { status, body } = wording(refusal);
    const unread = !req.complete && (late.has(refusal.code) || mustBeReadFirst(req));
    if (unread) res.shouldKeepAlive = false;
    const headers = [
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(Buffer.byteLength(body)),
      'Cache-Control',
      'no-store',
      'X-Gatehouse-Refusal',
      refusal.code,
      'X-Request-Id',
      req.visit.id,
    ];
    addHeaders(headers, refusal.headers);
    res.writeHead(status, headers);
    if (unread) answerWhileItSends(req, res, body);
    else whenAllIsRead(() => res.end(body));
  };
}

/** Of a body that came too late the rest may never come, so nothing can follow it on its connection. */
const late: ReadonlySet<RefusalCode> = new Set(['request_timeout', 'upload_too_slow']);

/** The rest of a short body is let through by Node and the connection goes on; for any other the connection must end. */
function mustBeReadFirst(req: IncomingMessage): boolean {
  if (req.socket.readableEnded) return false; // the client has ended its side: nothing more comes
  if (req.headers['transfer-encoding'] !== undefined || req.headers.expect !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > shortBodyMax;
}

/** The whole answer goes out, and ends when nothing more comes. */
function answerWhileItSends(req: IncomingMessage, res: ServerResponse, body: string): void {
  if (req.method === 'HEAD') sendHead(res);
  res.write(body, () => {
    req.visit.outAt = performance.now();
  });
  linger(req, () => res.end());
}
