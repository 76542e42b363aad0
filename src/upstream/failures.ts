import { codeOf } from '../content/error-code.ts';

/** What failed towards an upstream, as the metrics count it. */
export type FailureKind = 'unreachable' | 'timeout' | 'broken';

const timeouts = new Set<unknown>(['CONNECT_TIMEOUT', 'LINE_TIMEOUT', 'RESPONSE_TIMEOUT', 'ETIMEDOUT']);

/**
 * The one place that turns what fails towards an upstream into a kind. `sent` tells whether any of the request had left:
 * what fails before that is a target that cannot be reached, what fails after it is an answer that broke.
 */
export function failureKind(error: Error, sent: boolean): FailureKind {
  if (timeouts.has(codeOf(error))) return 'timeout';
  return sent ? 'broken' : 'unreachable';
}

/** What the system says when it has no more of what a connection takes: open files, local ports, memory. */
const shortages = new Set<unknown>(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']);

/**
 * Whether a connection failed for want of something on this side, which says nothing of the target. A name with several addresses
 * fails with an error for each, and a machine without IPv6 has no local address for one of them.
 */
export function isShortage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isShortage);
  return shortages.has(codeOf(error));
}

/** No connection to the upstream within its `connect` timeout. */
export class ConnectTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT';

  constructor(ms: number) {
    super(`no connection within ${ms} ms`);
    this.name = 'ConnectTimeout';
  }
}

/** The upstream took longer for the head of its answer than its `response` timeout. */
export class ResponseTimeout extends Error {
  readonly code = 'RESPONSE_TIMEOUT';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'ResponseTimeout';
  }
}

/** That time ran out in the line for a connection: nothing was sent, and it says nothing against the target. */
export class LineTimeout extends Error {
  readonly code = 'LINE_TIMEOUT';

  constructor(ms: number) {
    super(`no connection became free within ${ms} ms`);
    this.name = 'LineTimeout';
  }
}

/** The upstream neither took nor gave anything for too long. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  readonly code = 'ETIMEDOUT';
}

/** The upstream answered with something that cannot be passed on. */
export class NonsenseAnswer extends Error {
  override readonly name = 'NonsenseAnswer';
  /** With a code the log takes it for what can happen, and shows no stack. */
  readonly code = 'NONSENSE_ANSWER';
}

/** What both lanes say of a 101 that the client did not ask for. */
export const switchedUnasked = 'it switched protocols and was not asked to';

/** The answer of a target to a health check, where it is not 2xx. */
export class Unhealthy extends Error {
  override readonly name = 'Unhealthy';
  readonly code = 'UNHEALTHY';

  constructor(status: number) {
    super(`it answered ${status} to a health check`);
  }
}

/** The upstream closed a connection on which it still owed an answer. */
export class ConnectionClosed extends Error {
  readonly code = 'UPSTREAM_CLOSED';

  constructor() {
    super('the upstream closed the connection');
    this.name = 'ConnectionClosed';
  }
}

/** What is said when a connection turns out to be closed: by its end, by Node, and by the kernel. */
const closedCodes = new Set<unknown>(['UPSTREAM_CLOSED', 'ECONNRESET', 'EPIPE']);

export function isClosed(error: Error): boolean {
  return closedCodes.has(codeOf(error));
}

/** What was thrown, as an error that can be told of. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new NonsenseAnswer('an unknown fault');
}

/** The client left, so the upstream's work is no longer wanted. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}
