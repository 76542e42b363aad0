import { createAnswerer } from '../answer.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import type { Provisions } from '../journey.ts';
import type { Admission } from '../stages/admit.ts';
import { createRouteTable } from '../stages/find-route.ts';
import { requestHeaderFilter } from '../wire/headers.ts';
import type { Parts } from './open-parts.ts';

/** What the stages of the journey work with. */
export function provisionsOf(parts: Parts): Provisions {
  const { config, connections, keyCheck, quotas, upstreams, sockets, spools, wording } = parts;
  const { auth, limits } = config;
  return {
    connections,
    headRules: { keyHeader: auth.header.toLowerCase() },
    keyCheck,
    routes: createRouteTable(config.routes),
    usage: { path: config.usagePath, plans: config.plans, quotas },
    admission: admissionOf(parts),
    bodyRooms: { memory: new BodyMemory(limits.bodyMemory), spools, requestMs: limits.requestTimeoutMs },
    forwarding: {
      upstreams,
      passes: requestHeaderFilter(auth.header, auth.forwardKey),
      forwarded: config.forwarded,
      sockets,
    },
    answer: createAnswerer(wording),
  };
}

function admissionOf({ config, quotas, metrics, logger }: Parts): Admission {
  return {
    plans: config.plans,
    quotas,
    count: metrics.countDecision,
    warn: ({ keyId, plan }, { name, limit, used }) => {
      metrics.countNearLimit(plan, name);
      logger.warn({ keyId, plan, quota: name, used, limit }, 'a key is near its limit');
    },
  };
}
