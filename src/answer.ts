import type { ServerResponse } from 'node:http';
import { type RefusalCode, refusalFor, type Wording } from './refusals.ts';
import { breakOff } from './wire/break-off.ts';
import { addHeaders } from './wire/headers.ts';
import { sendJson } from './wire/send-json.ts';

export type Answerer = (res: ServerResponse, error: unknown) => void;

/**
 * The one place that makes a response of a Refusal. Anything else that was thrown becomes `internal` with fixed words:
 * what went wrong inside is for the log alone.
 */
export function createAnswerer(wording: Wording): Answerer {
  return function answer(res, error) {
    const { complete, visit } = res.req;
    if (visit.cut === 'gateway') {
      // We cut the connection: that the client is gone is not news, and not its doing.
      res.destroy();
      return;
    }
    const refusal = refusalFor(error);
    visit.refusal = refusal.code;
    visit.fault = refusal.fault;
    visit.cause = refusal.cause ?? (refusal.detail === undefined ? undefined : refusal);
    if (res.headersSent || res.destroyed || refusal.code === 'client_gone') {
      breakOff(res);
      return;
    }
    const { status, body } = wording(refusal);
    const headers = ['X-Gatehouse-Refusal', refusal.code, 'X-Request-Id', visit.id];
    addHeaders(headers, refusal.headers);
    const isLast = refusal.isLast || (!complete && late.has(refusal.code));
    sendJson(res, { status, body, headers, isLast });
  };
}

/** The rest of a body that came too late may never come, so nothing can follow it on its connection. */
const late: ReadonlySet<RefusalCode> = new Set(['request_timeout', 'upload_too_slow']);
