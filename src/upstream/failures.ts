import { errors } from 'undici';
import { Refusal } from '../refusals.ts';

/** What failed towards an upstream, as the metrics count it. */
export type FailureKind = 'unreachable' | 'timeout' | 'broken';

const timeouts = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT']);

/**
 * The one place that turns what a proxy library reports into a kind. `sent` tells whether any of the request had left:
 * what fails before that is a target that cannot be reached, what fails after it is an answer that broke.
 */
export function failureKind(error: Error, sent: boolean): FailureKind {
  if ('code' in error && typeof error.code === 'string' && timeouts.has(error.code)) return 'timeout';
  return sent ? 'broken' : 'unreachable';
}

export function refuse(kind: FailureKind, cause: Error): Refusal {
  return new Refusal(`upstream_${kind}`, { cause });
}

/** The upstream took longer for the head of its answer than its `response` timeout. */
export class ResponseTimeout extends Error {
  readonly code = 'UND_ERR_HEADERS_TIMEOUT';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'ResponseTimeout';
  }
}

/** The upstream neither took nor gave anything for too long. */
export class Stalled extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(message: string) {
    super(message);
    this.name = 'Stalled';
  }
}

/** The upstream answered with something that cannot be passed on. */
export class NonsenseAnswer extends Error {
  /** With a code the log takes it for what can happen, and shows no stack. */
  readonly code = 'NONSENSE_ANSWER';

  constructor(message: string) {
    super(message);
    this.name = 'NonsenseAnswer';
  }
}

/** An error as the log may tell it: undici's for an answer that is no HTTP comes without a code, and so with a stack. */
export function named(error: Error): Error {
  return error instanceof errors.HTTPParserError ? new NonsenseAnswer(error.message) : error;
}

/** The client left, so the upstream's work is no longer wanted. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}
