import { JsonProblem } from '../content/strict-json.ts';
import { KeyProblem, type FieldFault } from '../keys/key-problem.ts';
import { soon } from '../refusals.ts';
import { StoreUnavailable, Unreadable } from '../stores/store-unavailable.ts';

/** Every way in which the admin API says no, with its status. */
export const problemStatuses = {
  malformed: 400,
  token_required: 401,
  api_off: 403,
  read_only: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  outdated: 412,
  too_large: 413,
  unsupported_type: 415,
  misdirected: 421,
  invalid: 422,
  reused: 422,
  too_many_failures: 429,
  internal: 500,
  unreadable: 500,
  store_unavailable: 503,
  stopping: 503,
} as const satisfies Readonly<Record<string, number>>;

export type ProblemCode = keyof typeof problemStatuses;

interface ProblemOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: readonly FieldFault[];
  /** Further members of the answer. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Why a request to the admin API is refused. The message is for the operator and holds nothing secret. */
export class AdminProblem extends Error {
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: readonly FieldFault[];
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(code: ProblemCode, message: string, { headers, fields, extra }: ProblemOptions = {}) {
    super(message);
    this.name = 'AdminProblem';
    this.code = code;
    this.headers = headers ?? {};
    this.fields = fields ?? [];
    this.extra = extra ?? {};
  }

  get status(): number {
    return problemStatuses[this.code];
  }

  /** How every problem is written. */
  get body(): Readonly<Record<string, unknown>> {
    const faults = this.fields.map(({ field, message }) => ({ field, problem: message }));
    const fields = faults.length === 0 ? {} : { fields: faults };
    return { error: this.message, code: this.code, ...fields, ...this.extra };
  }
}

/** What is said about something thrown; `internal` for a fault of our own, about which nothing is said. */
export function problemOf(error: unknown): AdminProblem {
  if (error instanceof AdminProblem) return error;
  if (error instanceof JsonProblem) return new AdminProblem('malformed', error.message);
  if (error instanceof KeyProblem) {
    const begins = error.faults[0]?.field ?? '';
    const message = begins === '' ? sentence(error.message) : error.message;
    return new AdminProblem(error.code, message, { fields: error.faults });
  }
  // It stays so until somebody repairs it, so there is no Retry-After.
  if (error instanceof Unreadable) return new AdminProblem('unreadable', sentence(error.message));
  if (!(error instanceof StoreUnavailable)) return new AdminProblem('internal', 'Internal server error');
  const doubt = error.mayHaveHappened
    ? '. It may have been done all the same: look before you repeat it'
    : '';
  return new AdminProblem('store_unavailable', `The store does not answer${doubt}`, {
    headers: soon,
  });
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** For a method that would do more than read what can only be read. */
export function onlyRead(): AdminProblem {
  return new AdminProblem('method_not_allowed', 'Method not allowed', { headers: { Allow: 'GET, HEAD' } });
}
