import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import { createJourney, type Travel } from '../journey.ts';
import { createWording } from '../refusals.ts';
import { describeCause } from '../telemetry/log.ts';
import { createUpstream, type Upstream, type UpstreamEvents } from '../upstream/upstream.ts';
import { originFinder, type FindOrigin } from '../wire/client-address.ts';
import type { Parts } from './open-parts.ts';
import { provisionsOf, type Terms } from './provisions.ts';

/**
 * What requests are served by under one configuration, on top of the parts that last. A reload puts another in its place, for
 * requests that begin afterwards; those before travel to their end under the one that they began with.
 */
export interface Edition extends Terms {
  readonly findOrigin: FindOrigin;
  readonly travel: Travel;
}

/** Makes an edition. What did not change is that of the one before: upstreams with their connections, plans with the units that are held of them. */
export function openEdition(written: Config, parts: Parts, before?: Edition): Edition {
  const config =
    before === undefined ? written : { ...written, plans: keepEqual(written.plans, before.config.plans) };
  const upstreams = createUpstreams(config, parts, before);
  const wording = createWording(config.errors);
  return {
    config,
    upstreams,
    wording,
    findOrigin: originFinder(config.trustProxy),
    travel: createJourney(provisionsOf(parts, { config, upstreams, wording })),
  };
}

/** Closes the upstreams that the next edition has not taken over, or all of the last. */
export function closeEdition({ upstreams }: Edition, next?: Edition): void {
  for (const [name, upstream] of upstreams) {
    if (next?.upstreams.get(name) !== upstream) upstream.close();
  }
}

function createUpstreams({ upstreams }: Config, parts: Parts, before?: Edition): Map<string, Upstream> {
  const { metrics, logger } = parts;
  const events: UpstreamEvents = {
    countError: metrics.countUpstreamError,
    setAside: (upstream, target, cause) =>
      logger.warn({ upstream, target, cause: describeCause(cause) }, 'a target cannot be used'),
    usedAgain: (upstream, target) => logger.warn({ upstream, target }, 'a target is used again'),
  };
  return new Map(
    [...upstreams].map(([name, upstream]) => {
      const same = isDeepStrictEqual(before?.config.upstreams.get(name), upstream);
      const kept = same ? before?.upstreams.get(name) : undefined;
      return [name, kept ?? createUpstream(upstream, events)];
    }),
  );
}

/** Leases hold on to a plan by the very object: an equal one would look like another plan. */
function keepEqual<Value>(
  values: ReadonlyMap<string, Value>,
  before: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  return new Map(
    [...values].map(([name, value]) => {
      const last = before.get(name);
      return [name, last !== undefined && isDeepStrictEqual(last, value) ? last : value];
    }),
  );
}
