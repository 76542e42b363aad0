import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { auth, keys } from './schema/callers.ts';
import { errors } from './schema/errors.ts';
import { limits } from './schema/limits.ts';
import { admin, basePath, forwarded, listen, trustProxy } from './schema/listeners.ts';
import { plans } from './schema/plans.ts';
import { drain, log, store, storeDeadline, usage, workers } from './schema/process.ts';
import { routes } from './schema/routes.ts';
import { spool } from './schema/uploads.ts';
import { upstreams, versions } from './schema/upstreams.ts';

/**
 * Everything that can be written in the YAML, as JSON Schema (draft 2020-12). It is the one source of the types, the
 * defaults, the checks at start and the published schema. `writeOnly` marks secrets: no message shows them. It uses no
 * anyOf and no oneOf, so that each mistake gives exactly one error.
 */
export const schema = {
  title: 'Gatehouse configuration',
  description: 'Durations are written 250ms, 10s, 5m, 2h, 7d; sizes 512B, 16KB, 10MB, 1GB (powers of 1024).',
  type: 'object',
  additionalProperties: false,
  required: ['upstreams', 'routes'],
  properties: {
    listen,
    admin,
    basePath,
    workers,
    trustProxy,
    store,
    storeDeadline,
    auth,
    plans,
    keys,
    upstreams,
    versions,
    routes,
    usage,
    errors,
    limits,
    spool,
    forwarded,
    drain,
    log,
  },
} as const satisfies JSONSchema;

/** The configuration as written, with the defaults filled in: durations and sizes are still text. */
export type RawConfig = FromSchema<typeof schema>;

export type RawRoute = RawConfig['routes'][number];
export type RawBody = Exclude<RawRoute['body'], string>;
export type RawUpload = NonNullable<RawBody['upload']>;
export type RawPlan = RawConfig['plans'][string];
export type RawQuota = RawPlan['quotas'][number];
export type RawKey = RawConfig['keys'][number];
export type RawUpstream = RawConfig['upstreams'][string];
export type RawToken = RawConfig['admin']['tokens'][number];
