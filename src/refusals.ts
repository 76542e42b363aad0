/** Whose fault a refusal is. It decides the log level: the gateway's own are errors, an upstream's and mere load are warnings. */
export type Fault = 'client' | 'upstream' | 'load' | 'gateway';

interface CatalogueEntry {
  readonly status: number;
  /** What the client reads when the refusal brings no sentence of its own. One human sentence, no full stop. */
  readonly message: string;
  readonly fault: Fault;
}

/**
 * Every way a request can be turned away. The code travels in `X-Gatehouse-Refusal`, the message in the JSON body;
 * YAML may replace status, message and extra fields of each under `errors`, never the code.
 */
export const catalogue = {
  // the door
  request_malformed: { status: 400, message: 'Malformed request', fault: 'client' },
  path_malformed: { status: 400, message: 'The path is not in canonical form', fault: 'client' },
  headers_too_large: { status: 431, message: 'Request headers are too large', fault: 'client' },
  expectation_failed: { status: 417, message: 'Only "Expect: 100-continue" is understood', fault: 'client' },
  request_timeout: { status: 408, message: 'The request took too long to arrive', fault: 'client' },
  overloaded: { status: 503, message: 'The service is busy, try again shortly', fault: 'load' },
  // authenticate
  key_missing: { status: 401, message: 'API key is required', fault: 'client' },
  key_invalid: { status: 401, message: 'Invalid API key', fault: 'client' },
  too_many_failures: {
    status: 429,
    message: 'Too many requests without a valid API key',
    fault: 'client',
  },
  keys_unavailable: { status: 500, message: 'Internal server error', fault: 'gateway' },
  // find the route
  route_unknown: { status: 404, message: 'Not found', fault: 'client' },
  method_not_allowed: { status: 405, message: 'Method not allowed', fault: 'client' },
  version_gone: { status: 410, message: 'This version of the API is no longer available', fault: 'client' },
  key_not_allowed: { status: 403, message: 'This API key may not call this endpoint', fault: 'client' },
  upgrade_malformed: { status: 400, message: 'The WebSocket handshake is malformed', fault: 'client' },
  upgrade_refused: { status: 400, message: 'This endpoint does not upgrade the connection', fault: 'client' },
  // admit
  plan_unknown: { status: 500, message: 'Internal server error', fault: 'gateway' },
  quota_exhausted: { status: 429, message: 'Quota exceeded', fault: 'client' },
  rate_exceeded: { status: 429, message: 'Too many requests, slow down', fault: 'client' },
  too_many_in_flight: { status: 429, message: 'Too many requests at the same time', fault: 'client' },
  quota_unavailable: {
    status: 503,
    message: 'The quota cannot be checked at the moment, try again shortly',
    fault: 'gateway',
  },
  // read the body
  body_unexpected: { status: 400, message: 'This endpoint takes no request body', fault: 'client' },
  body_malformed: { status: 400, message: 'The request body is malformed', fault: 'client' },
  body_invalid: { status: 400, message: 'The request body is not valid', fault: 'client' },
  body_too_large: { status: 413, message: 'The request body is too large', fault: 'client' },
  content_type_unsupported: { status: 415, message: 'Unsupported content type', fault: 'client' },
  content_encoding_unsupported: {
    status: 415,
    message: 'Request bodies must not be compressed',
    fault: 'client',
  },
  file_missing: { status: 400, message: 'The file is missing', fault: 'client' },
  file_too_large: { status: 413, message: 'The file is too large', fault: 'client' },
  file_unsupported: { status: 415, message: 'Files of this type are not supported', fault: 'client' },
  file_ambiguous: { status: 400, message: 'The form is not in canonical form', fault: 'client' },
  upload_too_slow: { status: 408, message: 'The upload is too slow', fault: 'client' },
  spool_full: { status: 503, message: 'The service is busy, try again shortly', fault: 'gateway' },
  // forward
  client_gone: { status: 499, message: 'The client closed the connection', fault: 'client' },
  upstream_unreachable: { status: 502, message: 'The service could not be reached', fault: 'upstream' },
  upstream_broken: { status: 502, message: 'The service gave no valid answer', fault: 'upstream' },
  upstream_timeout: { status: 504, message: 'The service took too long to answer', fault: 'upstream' },
  // anything that is not a refusal
  internal: { status: 500, message: 'Internal server error', fault: 'gateway' },
} as const satisfies Record<string, CatalogueEntry>;

export type RefusalCode = keyof typeof catalogue;

export const refusalCodes = Object.keys(catalogue) as readonly RefusalCode[];

interface RefusalOptions {
  /** A sentence for the client, more exact than the catalogue's. It never echoes a value the client sent. */
  readonly message?: string;
  /** For the log only. */
  readonly detail?: string | undefined;
  /** For the log only: the error behind the refusal. */
  readonly cause?: unknown;
  /** Headers that belong to the answer, such as `Retry-After` or `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly isLast?: boolean;
  /** Whose fault it is, when the catalogue's answer does not apply. */
  readonly fault?: Fault;
}

/** What a stage throws to turn a request away. Only the answerer turns it into a response. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly publicMessage: string | undefined;
  readonly detail: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Nothing can follow on the connection. */
  readonly isLast: boolean;
  /** Whose fault it is, when the catalogue's answer does not apply. */
  readonly fault: Fault | undefined;

  constructor(code: RefusalCode, options: RefusalOptions = {}) {
    // Nobody is told where a refusal was made, and finding out was 13 % of what one cost.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(options.detail ?? options.message ?? catalogue[code].message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.code = code;
    this.publicMessage = options.message;
    this.detail = options.detail;
    this.headers = options.headers ?? noHeaders;
    this.isLast = options.isLast ?? false;
    this.fault = options.fault;
  }
}

const noHeaders = Object.freeze({});

/** For what may be asked again as it is, in a moment. */
export const soon = Object.freeze({ 'Retry-After': '1' });

/** What a request is refused with for whatever was thrown: all that is no refusal itself is a fault of ours. */
export function refusalFor(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal('internal', { cause: error });
}

/** The refusal of a request for which there is no room now, but may be in a moment. The log is told what is full. */
export function overloaded(
  options: { readonly detail: string } | Pick<RefusalOptions, 'cause' | 'fault'>,
): Refusal {
  return new Refusal('overloaded', { ...options, headers: soon });
}

/** What the YAML puts in place of a refusal's own status, message and fields. */
export interface RefusalWording {
  readonly status: number | undefined;
  readonly message: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Gives a refusal the status and the JSON body that the client gets. */
export type Wording = (refusal: Refusal) => Worded;

/** As the client gets it. */
interface Worded {
  readonly status: number;
  readonly body: string;
}

export function createWording(overrides: ReadonlyMap<RefusalCode, RefusalWording>): Wording {
  const usual = new Map(refusalCodes.map((code) => [code, word(code, undefined)]));

  function word(code: RefusalCode, publicMessage: string | undefined): Worded {
    const own = catalogue[code];
    const override = overrides.get(code);
    const error = override?.message ?? publicMessage ?? own.message;
    return { status: override?.status ?? own.status, body: JSON.stringify({ error, ...override?.fields }) };
  }

  return ({ code, publicMessage }) =>
    (publicMessage === undefined ? usual.get(code) : undefined) ?? word(code, publicMessage);
}
