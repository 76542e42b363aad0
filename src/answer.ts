import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerWhileItSends, mustBeReadFirst } from './wire/answer-unread.ts';
import { breakOff } from './wire/break-off.ts';
import { addHeaders } from './wire/headers.ts';
import { Refusal, type RefusalCode, type Wording } from './refusals.ts';
import { whenAllIsRead } from './waiting/when-all-is-read.ts';

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
    const unread = mustBeReadFirst(req) || (!req.complete && late.has(refusal.code));
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
