import type { Socket } from 'node:net';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { buildConnector, errors } from 'undici';
import { serverNameOf } from '../config/addresses.ts';

/** The code of a connection that an upstream reset under an answer. */
export const resetCode = 'UPSTREAM_RESET';

/** The host of a target, without the brackets of an IPv6 address. */
export function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** What the https connections to an upstream trust. */
export type Trust = Pick<ConnectionOptions, 'secureContext'>;

/**
 * Reads the authorities once for all connections. Left to each of them, a bundle of the system's would cost every one 10 ms
 * of the event loop and 1 MB for as long as it is kept.
 */
export function createTrust(ca: string | undefined): Trust {
  return ca === undefined ? {} : { secureContext: createSecureContext({ ca }) };
}

/** By how much a time of undici's may end too early, and a little more. */
const undiciEarlyMs = 1000;

/** Makes connections to one target, and mends what undici leaves to chance about them. */
export function createConnector({
  hostname,
  timeoutMs,
  trust,
}: {
  /** The bare host of the target. */
  readonly hostname: string;
  readonly timeoutMs: number;
  readonly trust: Trust;
}): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs + undiciEarlyMs, // behind ours, to do away with the connection, which undici alone has hold of
    allowH2: false, // one protocol towards upstreams: every guarantee about framing is made and tested for HTTP/1.1
    ...trust,
  });
  // undici would take the name to verify from the Host header, which with `preserveHost` is the client's to choose.
  const name = serverNameOf(hostname);
  const servername = name === undefined ? {} : { servername: name };
  return function connectTarget({ servername: _chosenByHost, ...options }, callback) {
    let isLate = false;
    // undici's own goes by a clock that ticks twice a second, and may end too early as well as too late.
    const timer = setTimeout(() => {
      isLate = true;
      callback(new errors.ConnectTimeoutError(), null);
    }, timeoutMs);
    connect({ ...options, ...servername }, (...result) => {
      clearTimeout(timer);
      result[1]?.prependListener('error', describeBreak);
      if (isLate) result[1]?.destroy();
      else callback(...result);
    });
  };
}

/** What undici, Node and the kernel say when a connection turns out to be closed. */
const closedCodes = new Set<unknown>(['UND_ERR_SOCKET', resetCode, 'ECONNRESET', 'EPIPE']);

export function isClosed(error: Error): boolean {
  return 'code' in error && closedCodes.has(error.code);
}

/** Whether a connection that broke had brought anything before: answers to earlier requests, if none to this one. */
export function hadAnswers(error: Error): boolean {
  return 'socket' in error && Number((error.socket as { bytesRead?: unknown } | null)?.bytesRead) > 0;
}

/**
 * undici takes ECONNRESET for the end of an answer that has neither a length nor chunks, so a broken transfer would look
 * whole. Under a code that it does not know, a reset is an error like any other. What it says itself of a connection that was
 * closed, `socket`, an error of the system has then as well.
 */
function describeBreak(this: Socket, error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = resetCode;
  Object.assign(error, { socket: { bytesRead: this.bytesRead } });
}
