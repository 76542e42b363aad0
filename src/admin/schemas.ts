import { namePattern } from '../config/name-pattern.ts';
import type { ImportReport } from '../keys/imports/import-keys.ts';
import type { AuditView } from '../keys/key-pages.ts';
import {
  fieldSchemas,
  keySchema,
  instantSchema,
  objectOf,
  quotaSchema,
  secretSchema,
  type Schema,
  type SchemaOf,
} from '../keys/key-schema.ts';
import type { KeyUsage } from '../quota/usage-book.ts';
import { refusalCodes } from '../refusals.ts';
import { problemStatuses } from './problem.ts';
import { verdictReasons, type RequestVerdict } from './verify-request.ts';

/** How many lines an import report lists as refused, and as warned of. */
export const linesListedMax = 1000;

/** The secret as it is told, once. */
const secret = { description: 'Told here and never again.', type: 'string' };
const noSecret = {
  description: 'The request was made before, and the secret was told then. Rotate the key to get another.',
  type: 'null',
};
const count = { type: 'integer', minimum: 0 };
const key = ref('Key');

/** What may be written of a key: null empties a field that can be empty. */
const written = Object.fromEntries(
  Object.entries(fieldSchemas).map(([name, schema]) => [name, writable(name, schema)]),
);

const auditProperties: SchemaOf<AuditView> = {
  id: { description: 'Orders the log.', type: 'string' },
  at: { type: 'string', format: 'date-time' },
  actor: { description: 'The name of a token, or cli: and a user.', type: 'string' },
  action: {
    description: 'create, update, rotate, revoke, disable, enable, import or set_usage.',
    type: 'string',
  },
  keyId: { description: 'null when it is about many keys.', type: ['string', 'null'] },
  keys: { description: 'How many keys it is about.', ...count },
  changes: {
    description:
      'By field, or by quota: what it was, and what it is. Never a secret. Usage that could not be read is null.',
    type: 'object',
    additionalProperties: { type: 'array', minItems: 2, maxItems: 2, items: {} },
  },
};

const countsOfImport: SchemaOf<ImportReport> = {
  lines: count,
  added: count,
  updated: count,
  skipped: { description: 'Were there already.', ...count },
  refused: count,
};

const usageProperties: SchemaOf<KeyUsage> = {
  key: { type: 'string' },
  plan: { type: 'string' },
  owner: { description: 'Whom the key belongs to; empty for nobody.', type: 'string' },
  quotas: {
    description: 'Empty where the plan has none, and in a list where the configuration has no such plan.',
    type: 'array',
    items: objectOf({
      name: { type: 'string' },
      limit: count,
      used: { description: 'Spent, or drawn ahead by a gateway.', ...count },
      leased: {
        description:
          'The part of `used` that gateways have drawn ahead and not yet accounted for: some may be spent already.',
        ...count,
      },
      remaining: count,
      resetsAt: { description: 'When the period ends, or has ended; null for a lifetime.', ...instantSchema },
    }),
  },
};

const verdictProperties: SchemaOf<RequestVerdict> = {
  valid: { type: 'boolean' },
  reason: { type: 'string', enum: Object.keys(verdictReasons) },
  refusal: {
    description: 'The refusal code that a caller would get; null when the request would go on.',
    type: ['string', 'null'],
    enum: [...refusalCodes, null],
  },
  key: { description: 'The key of the secret; null for none.', anyOf: [key, { type: 'null' }] },
  secret: {
    description: 'Which of its secrets it is; null for a key of the configuration file, which has one only.',
    type: ['integer', 'null'],
  },
  answer: {
    description: 'What the gateway would answer; null when the request would go on.',
    anyOf: [objectOf({ status: { type: 'integer' }, body: { type: 'string' } }), { type: 'null' }],
  },
};

const exampleKey = {
  id: 'key_01kae1c8bq7v3m5x9tzd',
  version: 1,
  name: 'build server',
  owner: 'acme',
  plan: 'free',
  quotas: [],
  scopes: [],
  labels: { team: 'voice' },
  networks: [],
  enabled: true,
  state: 'good',
  notBefore: null,
  expiresAt: '2027-12-31T00:00:00.000Z',
  revokedAt: null,
  createdAt: '2026-11-20T12:00:00.000Z',
  lastUsedAt: null,
  secrets: [
    {
      number: 1,
      start: 'gh_4Zr1',
      createdAt: '2026-11-20T12:00:00.000Z',
      expiresAt: null,
      expired: false,
      lastUsedAt: null,
    },
  ],
};

/**
 * The schemas of the document, by their names under `components.schemas`; those of `values` bodies are defined with their
 * operations.
 */
export const schemas: Readonly<Record<string, Schema>> = {
  Key: { ...keySchema, examples: [exampleKey] },
  Secret: secretSchema,
  Quota: quotaSchema,
  NewKey: {
    description: 'The fields of a new key. `plan` may be left out where there is only one plan.',
    ...objectOf(
      { id: { description: 'Chosen when absent.', type: 'string', pattern: namePattern }, ...written },
      [],
    ),
    examples: [{ plan: 'free', name: 'build server', owner: 'acme', expiresAt: '2027-12-31' }],
  },
  KeyChange: {
    description: 'The fields to change. null empties one; what is absent stays.',
    ...objectOf(written, []),
    examples: [{ plan: 'free', expiresAt: null }],
  },
  KeyWithSecret: { description: 'A key that was made, with its secret.', ...objectOf({ key, secret }) },
  RepeatedKey: {
    description: 'What this very request came to before.',
    ...objectOf({ key, secret: noSecret }),
  },
  RotatedKey: {
    description: 'A key with its new secret.',
    ...objectOf(
      {
        key,
        secret: {
          description: 'Told here and never again; null when this very request was made before.',
          type: ['string', 'null'],
        },
        othersUntil: {
          description:
            'Until when the old secrets work; null for no longer. Absent when the request was made before.',
          ...instantSchema,
        },
      },
      ['key', 'secret'],
    ),
  },
  KeyPage: page('keys', key, 'A page can be short, or empty, before the end.'),
  AuditEntry: {
    description: 'A change of a key, or of many, or of what a key has used.',
    ...objectOf(auditProperties),
  },
  AuditPage: page(
    'entries',
    ref('AuditEntry'),
    'Newest first. A page can be short, or empty, before the end.',
  ),
  ImportReport: {
    description: 'What an import came to.',
    ...objectOf({
      ...countsOfImport,
      faults: listedLines('that were refused'),
      warnings: listedLines(
        'whose key was added though its secret can be guessed, or with a scope that is not among the routes; or whose secret does not work, as its key was revoked or has another one since',
      ),
    }),
  },
  Verdict: { description: 'What the gateway would say, and why.', ...objectOf(verdictProperties) },
  Usage: { description: 'What a key has used of its quotas.', ...objectOf(usageProperties) },
  Pattern: {
    description: 'A regular expression of the secrets that are made here, for secret scanners.',
    ...objectOf({ pattern: { type: 'string' } }),
    examples: [{ pattern: '\\bgh_[0-9A-Za-z]{27}_[0-9A-Za-z]{6}\\b' }],
  },
  Readiness: {
    description: 'Whether the gateway should be sent traffic.',
    ...objectOf({
      status: { type: 'string', enum: ['ready', 'not ready'] },
      reasons: {
        description: 'What is wrong, one sentence each. A ready gateway may still have something to tell.',
        type: 'array',
        items: { type: 'string' },
      },
    }),
    examples: [
      { status: 'not ready', reasons: ['the store does not answer: Redis did not answer within 250 ms'] },
    ],
  },
  Problem: {
    description: 'Why something was not done.',
    ...objectOf(
      {
        error: { description: 'One sentence for people.', type: 'string' },
        code: {
          description: 'For programs; it never changes.',
          type: 'string',
          enum: Object.keys(problemStatuses),
        },
        fields: {
          description: 'Each field or parameter that is invalid; the name is empty for an unknown one.',
          type: 'array',
          items: objectOf({ field: { type: 'string' }, problem: { type: 'string' } }),
        },
        report: { description: 'How far an import got.', ...ref('ImportReport') },
      },
      ['error', 'code'],
    ),
    examples: [{ error: 'There is no such key', code: 'not_found' }],
  },
};

function listedLines(which: string): Schema {
  return {
    description: `The first ${linesListedMax} lines ${which}.`,
    type: 'array',
    maxItems: linesListedMax,
    items: objectOf({ line: { type: 'integer', minimum: 1 }, problem: { type: 'string' } }),
  };
}

function writable(name: string, schema: Schema): Schema {
  if (name === 'plan' || name === 'enabled') return schema;
  const { type, format: _format, ...rest } = schema;
  const all = Array.isArray(type) ? type : [type, 'null'];
  return { ...rest, type: all };
}

function page(name: string, items: Schema, description: string): Schema {
  const next = { description: 'The `cursor` of the next page; null at the end.', type: ['string', 'null'] };
  const unreadable = {
    description: 'The ids of those whose records in the store are gone or damaged, whatever the filters are.',
    type: 'array',
    items: { type: 'string' },
  };
  return { description, ...objectOf({ [name]: { type: 'array', items }, unreadable, next }) };
}

export function ref(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
