import type { AdminRole } from '../config/config.ts';
import type { By } from '../keys/change-key.ts';
import type { WrittenFields } from '../keys/key-fields.ts';
import type { RequestMark } from '../stores/key-store.ts';
import type { Desk } from './desk.ts';
import type { SentLines } from './read-request.ts';
import type { Fields, Values } from './read-values.ts';
import type { Answer } from './send-answer.ts';

/**
 * One thing that the admin API can do. Requests are routed and checked by it, and the OpenAPI document is written from it, so the
 * two cannot differ.
 */
export interface Operation {
  /** The `operationId`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** `{id}` is one segment, the id of a key. */
  readonly path: string;
  readonly tag: string;
  readonly role: AdminRole;
  /** One line; docs/admin-api.md has it too. */
  readonly summary: string;
  readonly description?: string | undefined;
  readonly query: Fields;
  readonly body: BodyRule;
  /** Takes If-Match. */
  readonly conditional: boolean;
  /** Takes Idempotency-Key. */
  readonly repeatable: boolean;
  readonly answers: readonly AnswerRule[];
  readonly handle: (call: Call<Fields, Fields>, desk: Desk) => Promise<Answer>;
}

export type BodyRule<B extends Fields = Fields> =
  | { readonly kind: 'none' }
  /** The fields of a key: the key book reads them. */
  | { readonly kind: 'key'; readonly schema: string }
  | {
      readonly kind: 'values';
      /** The name that the document gives its schema. */
      readonly schema: string;
      readonly description: string;
      readonly fields: B;
      readonly required: readonly string[];
      readonly example: Readonly<Record<string, unknown>>;
    }
  /** Lines of text, never all held at once. */
  | { readonly kind: 'lines' };

/** Whether a request must have a body. Where no value is required, none counts as an empty one. */
export function isBodyRequired(body: BodyRule): boolean {
  return body.kind !== 'none' && (body.kind !== 'values' || body.required.length > 0);
}

interface AnswerRule {
  readonly status: 200 | 201;
  readonly description: string;
  /** A name under `components.schemas`. */
  readonly schema: string;
  readonly headers?: readonly ('ETag' | 'Location' | 'Idempotent-Replayed')[];
}

/** A request that has passed every check. */
export interface Call<Q extends Fields, B extends Fields> {
  /** The id in the path; '' where there is none. */
  readonly id: string;
  readonly query: Values<Q>;
  /** What was sent as a body of the kind `values`. */
  readonly body: Values<B>;
  /** What was sent as a body of the kind `key`. */
  readonly written: WrittenFields;
  /** What was sent as a body of the kind `lines`. */
  readonly lines: SentLines;
  readonly by: By;
  /** The request by its Idempotency-Key, when it has one. */
  readonly mark: RequestMark | undefined;
}

interface Spec<Q extends Fields, B extends Fields>
  extends
    Omit<Operation, 'query' | 'body' | 'handle' | 'conditional' | 'repeatable'>,
    Partial<Pick<Operation, 'conditional' | 'repeatable'>> {
  readonly query?: Q;
  readonly body?: BodyRule<B>;
  readonly handle: (call: Call<Q, B>, desk: Desk) => Promise<Answer>;
}

/** Completes an operation. What its handler gets is typed by its schemas. */
export function operation<const Q extends Fields = {}, const B extends Fields = {}>(
  spec: Spec<Q, B>,
): Operation {
  return {
    query: {},
    body: { kind: 'none' },
    conditional: false,
    repeatable: false,
    ...spec,
    // Its call has been checked by these very schemas.
    handle: spec.handle as Operation['handle'],
  };
}
