import { createAnswerer } from '../answer.ts';
import type { Config } from '../config/config.ts';
import type { Provisions } from '../journey.ts';
import type { Wording } from '../refusals.ts';
import type { Admission } from '../stages/admit.ts';
import { createRouteTable } from '../stages/find-route.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { createRequestHeaderFilter } from '../wire/headers.ts';
import type { Parts } from './open-parts.ts';

/** A configuration, and what was made of it. */
export interface EditionBasis {
  readonly config: Config;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly wording: Wording;
}

/** What the stages of the journey work with under one configuration. */
export function provisionsOf(parts: Parts, { config, upstreams, wording }: EditionBasis): Provisions {
  const { connections, keyChecks, quotas, sockets, bodyMemory, spools } = parts;
  const { auth, limits } = config;
  return {
    connections,
    keyHeader: auth.header.toLowerCase(),
    keyCheck: keyChecks.under(config),
    routes: createRouteTable(config.routes),
    usage: { path: config.usagePath, plans: config.plans, quotas },
    admission: admissionOf(config, parts),
    bodyRooms: { memory: bodyMemory, spools, requestMs: limits.requestTimeoutMs },
    forwarding: {
      upstreams,
      passes: createRequestHeaderFilter(auth.header, auth.forwardKey),
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
