import { namePattern } from '../config/name-pattern.ts';
import { periodUnits } from '../config/plan-rule.ts';
import { quotaNamePattern } from '../config/quota-names.ts';
import type { OwnQuota } from '../stores/key-store.ts';
import type { KeyFields } from './key-fields.ts';
import { labelPattern, labelsMax, lineLengthMax, networksMax, quotasMax, scopesMax } from './key-limits.ts';
import type { KeyView, SecretView } from './key-view.ts';
import { standings } from './standing.ts';

/** JSON Schema (draft 2020-12), as far as it is used here. */
export type Schema = Readonly<Record<string, unknown>>;

/** One schema for each field of T, and no others: the compiler keeps the two in step. */
export type SchemaOf<T> = { readonly [Field in keyof T]-?: Schema };

const line = { type: 'string', maxLength: lineLengthMax };
export const instantSchema = { type: ['string', 'null'], format: 'date-time' };

/** An object of these properties and no others; it has all of them, or those that are required. */
export function objectOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
) {
  return { type: 'object', additionalProperties: false, required, properties };
}

const quotaProperties: SchemaOf<OwnQuota> = {
  name: { description: 'A quota of the plan, or another one.', type: 'string', pattern: quotaNamePattern },
  limit: { description: 'Units in one period.', type: 'integer', minimum: 1 },
  per: {
    description: 'The calendar period; absent where the quota is the plan’s with another limit.',
    type: 'string',
    enum: periodUnits,
  },
  timezone: { description: 'IANA name of the zone whose calendar counts.', type: 'string' },
};

export const quotaSchema: Schema = {
  description:
    'A quota of one key. It takes the place of the plan’s quota of that name, or joins the others. Without `per` it changes the limit alone.',
  ...objectOf(quotaProperties, ['name', 'limit']),
};

/** What people decide about a key, as it is shown. Where instants are written, a date alone will do. */
export const fieldSchemas: SchemaOf<KeyFields> = {
  name: { description: 'What people call it; empty for none.', ...line },
  owner: { description: 'Whom it belongs to, as the upstream is told; empty for nobody.', ...line },
  plan: { description: 'One of the plans of the configuration.', type: 'string' },
  quotas: {
    description: 'Quotas of its own.',
    type: 'array',
    maxItems: quotasMax,
    items: { $ref: '#/components/schemas/Quota' },
  },
  scopes: {
    description: 'Names of routes, or patterns of paths, that it may call; none for every route.',
    type: 'array',
    maxItems: scopesMax,
    items: { type: 'string' },
  },
  labels: {
    description: 'For people and their programs.',
    type: 'object',
    maxProperties: labelsMax,
    propertyNames: { pattern: labelPattern },
    additionalProperties: line,
  },
  networks: {
    description: 'Addresses or CIDRs that it may be used from; none for anywhere.',
    type: 'array',
    maxItems: networksMax,
    items: { type: 'string' },
  },
  notBefore: { description: 'From when it is valid; null for always.', ...instantSchema },
  expiresAt: { description: 'From when it is refused; null for never.', ...instantSchema },
  enabled: { description: 'false refuses it until it is enabled.', type: 'boolean' },
};

const secretProperties: SchemaOf<SecretView> = {
  number: { description: 'Counts the secrets of its key from 1.', type: 'integer', minimum: 1 },
  start: {
    description: 'The first characters of the secret; empty when nothing may be shown of it.',
    type: 'string',
  },
  createdAt: { type: 'string', format: 'date-time' },
  expiresAt: { description: 'From when it is refused; null for as long as the key lives.', ...instantSchema },
  expired: { type: 'boolean' },
  lastUsedAt: { description: 'Written about once a minute; null for never.', ...instantSchema },
};

export const secretSchema: Schema = {
  description: 'One of the secrets of a key. The secret itself is kept nowhere.',
  ...objectOf(secretProperties),
};

const keyProperties: SchemaOf<KeyView> = {
  id: { description: 'Shown in logs and to the upstream.', type: 'string', pattern: namePattern },
  version: {
    description: 'One more with every change. The ETag is made of it.',
    type: 'integer',
    minimum: 0,
  },
  state: {
    description: 'Whether it may be used now, and if not, why.',
    type: 'string',
    enum: standings,
  },
  ...fieldSchemas,
  revokedAt: { description: 'Since when it is revoked for ever; null when it is not.', ...instantSchema },
  createdAt: { description: 'null for a key of the configuration file.', ...instantSchema },
  lastUsedAt: { description: 'Written about once a minute; null for never.', ...instantSchema },
  secrets: {
    description:
      'Oldest first: several after a rotation with an overlap. One that has expired is dropped by the next rotation. A key of the configuration file shows none.',
    type: 'array',
    items: { $ref: '#/components/schemas/Secret' },
  },
};

export const keySchema: Schema = {
  description: 'A key. It holds no secret.',
  ...objectOf(keyProperties),
};
