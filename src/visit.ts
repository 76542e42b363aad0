import type { ServerResponse } from 'node:http';
import { catalogue, type Fault, type RefusalCode } from './refusals.ts';

/** Where a request came from, as far as it can be believed. */
export interface Origin {
  /** The address at the other end of the connection. */
  readonly peer: string;
  /** The client's address: the peer's own, or what trusted proxies say of it. */
  readonly client: string;
  /** True when the peer is a proxy named in `trustProxy`: only then is anything it says of the client believed. */
  readonly trusted: boolean;
}

/**
 * What is known of one request so far, for the log line, the metrics and the settling of its quota. The journey fills it in as it
 * goes, and it can hold no secret because it has no place for one.
 */
export class Visit {
  readonly id: string;
  readonly origin: Origin;
  readonly startedAt = performance.now();
  /** When the answer was out; its connection may have to be kept for longer. */
  outAt: number | undefined;
  /** The path without its query, once it has proved canonical. */
  path: string | undefined;
  keyId: string | undefined;
  /** In which of several headers its key came, valid or not, as the configuration writes it. */
  keyHeader: string | undefined;
  plan: string | undefined;
  route: string | undefined;
  upstream: string | undefined;
  refusal: RefusalCode | undefined;
  /** Why a key was not valid, and which it was where one was found: for the log, never for the client. */
  keyProblem: string | undefined;
  refusedKeyId: string | undefined;
  /** How its body does not fit a schema that only reports: the sentence of the refusal, which holds no value. */
  mismatch: string | undefined;
  /** Whose fault the refusal is, when the catalogue's answer does not apply. */
  fault: Fault | undefined;
  /** What was behind the refusal, or the break, for the log. */
  cause: unknown;
  /**
   * Who broke off when no refusal could be sent any more: the gateway itself only when its `drain.timeout` is over, an answer ahead
   * on the connection broke, or it could not read what it had kept of the body.
   */
  cut: 'client' | 'upstream' | 'gateway' | undefined;
  /** From sending the request to the head of the answer. */
  upstreamMs: number | undefined;
  /** Whether any of the request has left for an upstream. */
  sent = false;
  /** The status of the upstream's answer, once its head is on the way to the client. */
  answered: number | undefined;
  /** In units, if the upstream gave a number in the route's cost header. */
  cost: number | undefined;
  /** Let through without the store's answer, to be counted when it is back. */
  owed = false;
  /** Bytes of the bodies, or over a WebSocket. */
  bytesIn = 0;
  bytesOut = 0;

  constructor(id: string, origin: Origin) {
    this.id = id;
    this.origin = origin;
  }

  /** From the head of the request to the end of its answer. Read it when that is over: it stays as it is first read. */
  get tookMs(): number {
    this.outAt ??= performance.now();
    return this.outAt - this.startedAt;
  }
}

/**
 * Call it when a response has closed, before it is reported. If it closed unfinished, and nothing else says why, its client has left.
 */
export function noteLeaving(visit: Visit, res: ServerResponse): void {
  if (res.writableFinished || visit.refusal !== undefined || visit.cut !== undefined) return;
  // A connection that switched protocols has no end that HTTP knows of: its close is the end.
  if (res.statusCode === 101) return;
  if (hasBegun(res)) {
    visit.cut = 'client';
    return;
  }
  visit.answered = undefined;
  visit.refusal = 'client_gone';
}

/** The status to report where none was sent: 499 for a client that left before its answer, 503 for one that was cut off. */
export function statusOf(visit: Visit, res: ServerResponse): number {
  if (visit.cut === 'gateway' && !hasBegun(res)) return catalogue.overloaded.status;
  return visit.refusal === 'client_gone' ? catalogue.client_gone.status : res.statusCode;
}

/**
 * Whether any of it was sent. An answer that waited for another until the end never had the connection, whatever the upstream said:
 * all of it still waits. One that switched protocols, or was broken off, has given the connection away.
 */
function hasBegun(res: ServerResponse): boolean {
  return res.headersSent && (res.socket !== null || res.statusCode === 101 || res.writableLength === 0);
}

declare module 'http' {
  interface IncomingMessage {
    visit: Visit;
  }
}
