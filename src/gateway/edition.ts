import { isDeepStrictEqual } from 'node:util';
import { createAnswerer } from '../answer.ts';
import type { BodyRule, Config } from '../config/config.ts';
import { createJourney, type Provisions, type Travel } from '../journey.ts';
import { createWording, type Wording } from '../refusals.ts';
import type { Admission } from '../stages/admit.ts';
import { createRouteTable } from '../stages/find-route.ts';
import { createUpstream, type Upstream } from '../upstream/upstream.ts';
import { createOriginFinder, type FindOrigin } from '../wire/client-address.ts';
import { createRequestHeaderFilter } from '../wire/headers.ts';
import type { Parts } from './open-parts.ts';

/**
 * What serves requests under one configuration, on top of the parts that last. A reload puts another in its place for requests that
 * begin afterwards; earlier ones finish under the one that they began with.
 */
export interface Edition {
  readonly config: Config;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly wording: Wording;
  readonly findOrigin: FindOrigin;
  readonly travel: Travel;
}

/**
 * Makes an edition. What is written as before is taken over from the previous one: plans with the units held of them, upstreams
 * with their connections. Nothing in it refers to that edition, or each would keep all before it alive.
 */
export function openEdition(written: Config, parts: Parts, before?: Edition): Edition {
  const config = {
    ...written,
    plans: keepEqual(written.plans, before?.config.plans),
    upstreams: keepEqual(written.upstreams, before?.config.upstreams),
  };
  const upstreams = createUpstreams(config, parts, before);
  const wording = createWording(config.errors);
  for (const name of config.upstreams.keys()) parts.metrics.expectUpstream(name);
  for (const [name, plan] of config.plans) parts.metrics.expectPlan(name, plan);
  for (const { name, body } of config.routes) if (isOnTrial(body)) parts.metrics.expectMismatches(name);
  return {
    config,
    upstreams,
    wording,
    findOrigin: createOriginFinder(config.trustProxy),
    travel: createJourney(provisionsOf(parts, { config, upstreams, wording })),
  };
}

/** Closes the upstreams that the next edition has not taken over, or all of them for the last. */
export function closeEdition({ upstreams }: Edition, next?: Edition): void {
  for (const [name, upstream] of upstreams) {
    if (next?.upstreams.get(name) !== upstream) upstream.close();
  }
}

/** What the stages of the journey work with under one configuration. */
function provisionsOf(
  parts: Parts,
  { config, upstreams, wording }: Omit<Edition, 'findOrigin' | 'travel'>,
): Provisions {
  const { connections, keyChecks, quotas, sockets, bodyMemory, spools } = parts;
  const { auth, limits } = config;
  return {
    connections,
    keyHeaders: auth.headers.map((name) => name.toLowerCase()),
    keyCheck: keyChecks.under(config),
    routes: createRouteTable(config.routes),
    usage: { path: config.usagePath, plans: config.plans, quotas },
    admission: admissionOf(config, parts),
    bodyRooms: { memory: bodyMemory, spools, requestMs: limits.requestTimeoutMs },
    forwarding: {
      upstreams,
      passes: createRequestHeaderFilter(auth.headers, auth.forwardKey),
      forwarded: config.forwarded,
      sockets,
    },
    answer: createAnswerer(wording),
  };
}

function admissionOf({ plans }: Config, { quotas, metrics, logger }: Parts): Admission {
  return {
    plans,
    quotas,
    count: metrics.countDecision,
    warn: ({ keyId, plan }, { name, limit, used }) => {
      metrics.countNearLimit(plan, name);
      logger.warn({ keyId, plan, quota: name, used, limit }, 'a key is near its limit');
    },
  };
}

/** Whether the schema of a body only reports what does not fit it. */
function isOnTrial(body: BodyRule): boolean {
  if (body.kind === 'json') return body.schema?.onMismatch === 'report';
  if (body.kind !== 'upload' || body.upload.kind !== 'form') return false;
  return body.upload.fields.schema?.onMismatch === 'report';
}

function createUpstreams(config: Config, { upstreamEvents }: Parts, before?: Edition): Edition['upstreams'] {
  return new Map(
    [...config.upstreams].map(([name, upstream]) => {
      const kept = before?.config.upstreams.get(name) === upstream ? before.upstreams.get(name) : undefined;
      return [name, kept ?? createUpstream(upstream, upstreamEvents)];
    }),
  );
}

/** What is written as before stays the very same object: leases recognise a plan by that. */
function keepEqual<Value>(
  values: ReadonlyMap<string, Value>,
  before?: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  return new Map(
    [...values].map(([name, value]) => {
      const last = before?.get(name);
      return [name, last !== undefined && isDeepStrictEqual(last, value) ? last : value];
    }),
  );
}
