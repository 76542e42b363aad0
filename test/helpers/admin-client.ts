import assert from 'node:assert/strict';
import addFormats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ImportReport } from '../../src/keys/imports/import-keys.ts';
import type { AuditView } from '../../src/keys/key-pages.ts';
import type { KeyView } from '../../src/keys/key-view.ts';

/** An answer of the admin API. */
export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AdminBody;
  /** As it came. */
  readonly text: string;
}

/** All that answers are made of, each of which has some: the document says which, and is held to it. */
export interface AdminBody extends Omit<KeyView, 'quotas'>, ImportReport, Problem {
  readonly key: KeyView;
  /** Here and below null is possible, which the document knows. */
  readonly secret: string;
  readonly othersUntil: string;
  readonly keys: readonly KeyView[];
  readonly entries: readonly AuditView[];
  readonly next: string | null;
  readonly faults: readonly Remark[];
  readonly warnings: readonly Remark[];
  readonly quotas: readonly { readonly name: string; readonly used: number }[];
  readonly valid: boolean;
  readonly reason: string;
  readonly refusal: string | null;
  readonly answer: { readonly status: number };
  readonly pattern: string;
}

interface Remark {
  readonly line: number;
  readonly problem: string;
}

interface Problem {
  readonly error: string;
  readonly code: string;
  readonly fields: readonly { readonly field: string; readonly problem: string }[];
  readonly report: ImportReport;
}

export interface AdminRequest {
  /** An object is sent as JSON, text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** Asks the admin API, and holds every answer against the document that the gateway serves. */
export interface AdminClient {
  (method: string, path: string, request?: AdminRequest): Promise<AdminAnswer>;
  readonly document: OpenApi;
}

/** Any object of the document. */
export type Part = Readonly<Record<string, unknown>>;

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Part>>>>;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: Part;
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

interface OpenApiResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>>;
}

/** Reads the document of a gateway, and asks it with this token. */
export async function createAdminClient(adminUrl: string, token: string): Promise<AdminClient> {
  // The gateway ends a silent connection after some seconds, which may be when it is taken again.
  const alone = { connection: 'close' };
  const written = await (await fetch(`${adminUrl}/openapi.json`, { headers: alone })).text();
  const document = JSON.parse(written) as OpenApi;
  const holds = holders.getOrInsertComputed(written, () => createHolder(document));
  const ask = async (method: string, path: string, request: AdminRequest = {}): Promise<AdminAnswer> => {
    const isJson = typeof request.body === 'object';
    const response = await fetch(adminUrl + path, {
      method,
      headers: {
        ...alone,
        authorization: `Bearer ${request.token ?? token}`,
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(request.body === undefined
        ? {}
        : { body: isJson ? JSON.stringify(request.body) : (request.body as string) }),
    });
    const text = await response.text();
    const { status, headers } = response;
    const answer = { status, headers, text, body: text === '' ? undefined : JSON.parse(text) };
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    if (text !== '') holds(method, path, answer);
    return answer;
  };
  return Object.assign(ask, { document });
}

/** By the text of the document, because they are costly to make and most gateways serve the same. */
const holders = new Map<string, ReturnType<typeof createHolder>>();

/** Headers that say nothing of what was asked. */
const ofEveryAnswer = [
  'Cache-Control',
  'Connection',
  'Content-Length',
  'Content-Type',
  'Date',
  'X-Content-Type-Options',
];

/** Fails when an answer is none that the document tells of. */
function createHolder(document: OpenApi) {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(Object.keys(document));
  ajv.addSchema(document, 'openapi');
  const checks = new Map<string, ValidateFunction>();
  const checkOf = (schema: string) =>
    checks.getOrInsertComputed(schema, () => ajv.compile({ $ref: `openapi#/components/schemas/${schema}` }));
  return function holds(method: string, path: string, { status, headers, body }: AdminAnswer): void {
    const operation = findOperation(document, method, path);
    const told = operation?.responses[status];
    assert.ok(
      operation === undefined || told,
      `${method} ${path} answers ${status}, which the document does not tell`,
    );
    const response = told?.$ref === undefined ? told : (resolve(document, told.$ref) as OpenApiResponse);
    for (const name of Object.keys(response?.headers ?? {})) {
      if (name !== 'Idempotent-Replayed' || headers.get('location') === null) continue;
      assert.ok(headers.has(name), `${method} ${path}: ${name} is missing`);
    }
    const known = [...ofEveryAnswer, ...Object.keys(response?.headers ?? {})].map((name) =>
      name.toLowerCase(),
    );
    const untold = operation && [...headers.keys()].filter((name) => !known.includes(name));
    assert.deepEqual(
      untold ?? [],
      [],
      `${method} ${path} ${status}: headers that the document does not tell`,
    );
    const ref = response?.content?.['application/json']?.schema.$ref;
    const check = checkOf(ref?.split('/').at(-1) ?? 'Problem');
    assert.ok(
      check(body),
      `${method} ${path} ${status}: ${JSON.stringify(check.errors)} ${JSON.stringify(body)}`,
    );
  };
}

function findOperation(document: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.split('?')[0]!.replace(/^\/v1\/keys\/[^/]+/, '/v1/keys/{id}');
  return document.paths[bare]?.[method.toLowerCase()];
}

function resolve(document: OpenApi, ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>>)[step], document);
}
