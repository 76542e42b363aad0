import type { ServerResponse } from 'node:http';
import { endOnceRead } from '../wire/linger.ts';

/** An answer before it is written. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Written as JSON; undefined for none. */
  readonly body?: unknown;
}

/** How long a client that is refused may go on sending, so that it gets to see the answer. */
const lingerMs = 1000;

/** On every answer of the listener: none is cached, and none is taken for another type. */
export const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

export const jsonType = { 'Content-Type': 'application/json; charset=utf-8' } as const;

/** Writes an answer as JSON. */
export function sendAnswer(res: ServerResponse, { status, headers, body }: Answer): void {
  if (body === undefined) return sendText(res, { status, headers, text: '' });
  sendText(res, { status, headers: { ...jsonType, ...headers }, text: JSON.stringify(body) });
}

interface TextAnswer extends Omit<Answer, 'body'> {
  readonly text: string;
}

/** The one place that writes the answers of the listener. To HEAD, Node sends only the headers. */
export function sendText(res: ServerResponse, { status, headers, text }: TextAnswer): void {
  if (res.headersSent || res.destroyed) return;
  const { req } = res;
  if (!req.complete) endSoon(res);
  res.writeHead(status, {
    ...commonHeaders,
    ...(status === 204 ? {} : { 'Content-Length': Buffer.byteLength(text) }),
    ...headers,
  });
  if (req.complete || res.shouldKeepAlive) res.end(text);
  else endOnceRead(res, text);
}

/** For an answer before all of its request has come: the rest is discarded for a moment, then the connection is cut. */
function endSoon(res: ServerResponse): void {
  const { req } = res;
  req.resume();
  res.once('finish', () => {
    const timer = setTimeout(() => {
      if (!req.complete) req.socket.destroy();
    }, lingerMs).unref();
    req.once('close', () => clearTimeout(timer));
  });
}
