import { availableParallelism, tmpdir } from 'node:os';
import { isContainer } from '../content/is-object.ts';
import type { BodyCheck } from './body-schema/compile-schema.ts';
import { address, checked, duration, instant, size } from './checked.ts';
import type {
  AdminToken,
  AuthConfig,
  Config,
  HealthRule,
  StaticKey,
  UpstreamConfig,
  Version,
} from './config.ts';
import { writtenDigest } from './digest.ts';
import { parseStoreAddress } from './parse-store-address.ts';
import { resolvePlan } from './resolve-plan.ts';
import { resolveRoute } from './resolve-route.ts';
import { pathBelow } from './route-path.ts';
import type { RawConfig, RawKey, RawRoute, RawToken, RawUpstream } from './schema.ts';
import { healthDefaults } from './schema/upstreams.ts';

/** A configuration without faults, as it was written, but for its secrets: of these it has the hashes. */
export interface CheckedConfig {
  readonly file: string;
  readonly raw: RawConfig;
  readonly checks: ReadonlyMap<RawRoute, BodyCheck>;
  readonly warnings: readonly string[];
}

/** Fixed for the process, even if it is later given more or fewer cores. */
const coresAtStart = availableParallelism();

/** Turns a checked configuration into the one the gateway runs on: numbers for texts, one frozen object. */
export function resolveConfig({ file, raw, checks, warnings }: CheckedConfig): Config {
  const versions = mapOf(raw.versions, resolveVersion);
  return freeze({
    file,
    listen: address(raw.listen),
    admin: { listen: address(raw.admin.listen), tokens: raw.admin.tokens.map(resolveToken) },
    workers: typeof raw.workers === 'number' ? raw.workers : coresAtStart,
    trustProxy: raw.trustProxy,
    store: parseStoreAddress(raw.store),
    storeDeadlineMs: duration(raw.storeDeadline),
    auth: {
      headers: [raw.auth.header].flat(),
      forwardKey: raw.auth.forwardKey,
      cacheForMs: duration(raw.auth.cacheFor),
      graceOnOutageMs: duration(raw.auth.graceOnOutage),
      prefix: raw.auth.prefix,
      guessing: resolveGuessing(raw.auth.guessing),
    },
    plans: mapOf(raw.plans, resolvePlan),
    keys: raw.keys.map(resolveKey),
    upstreams: mapOf(raw.upstreams, resolveUpstream),
    versions,
    routes: raw.routes.map((route) => resolveRoute(route, { raw, versions, check: checks.get(route) })),
    usagePath: raw.usage === undefined ? undefined : pathBelow(raw.basePath, raw.usage.path),
    errors: new Map(Object.entries(raw.errors)) as Config['errors'],
    limits: resolveLimits(raw.limits),
    spool: {
      memoryMax: size(raw.spool.memory),
      diskMax: size(raw.spool.disk),
      directory: raw.spool.directory ?? tmpdir(),
    },
    forwarded: raw.forwarded,
    drain: { delayMs: duration(raw.drain.delay), timeoutMs: duration(raw.drain.timeout) },
    log: raw.log,
    warnings,
  });
}

function resolveToken(token: RawToken): AdminToken {
  return { name: token.name, digest: checked(writtenDigest(token.hash)), role: token.role };
}

function resolveGuessing(guessing: RawConfig['auth']['guessing']): AuthConfig['guessing'] {
  return guessing.enabled ? { failuresMax: guessing.failures, perMs: duration(guessing.per) } : undefined;
}

function resolveKey(key: RawKey): StaticKey {
  return {
    id: key.id,
    plan: key.plan,
    owner: key.owner.trim(),
    digest: checked(writtenDigest(key.hash)),
    enabled: key.enabled,
    expiresAt: optionalInstant(key.expires),
  };
}

function resolveUpstream(upstream: RawUpstream, name: string): UpstreamConfig {
  const { connect, response, idle } = upstream.timeouts;
  return {
    name,
    targets: upstream.targets.map((target) => new URL(target).origin),
    timeouts: { connectMs: duration(connect), responseMs: duration(response), idleMs: duration(idle) },
    health: upstream.health === undefined ? undefined : resolveHealth(upstream.health),
    connections: upstream.connections,
    preserveHost: upstream.preserveHost,
    ca: upstream.ca,
  };
}

function resolveHealth(health: NonNullable<RawUpstream['health']>): HealthRule {
  const { path, every, timeout, host } =
    typeof health === 'string' ? { ...healthDefaults, path: health, host: undefined } : health;
  return { path, everyMs: duration(every), timeoutMs: duration(timeout), host };
}

function resolveVersion(version: RawConfig['versions'][string], name: string): Version {
  return {
    name,
    upstream: version.upstream,
    deprecatedAt: optionalInstant(version.deprecated),
    sunsetAt: optionalInstant(version.sunset),
    link: version.link,
    afterSunset: version.afterSunset,
  };
}

function resolveLimits(limits: RawConfig['limits']): Config['limits'] {
  return {
    connections: limits.connections,
    inFlight: limits.inFlight,
    inFlightPerConnection: limits.inFlightPerConnection,
    headerBytes: size(limits.headerSize),
    headerCount: limits.headerCount,
    headerTimeoutMs: duration(limits.headerTimeout),
    requestTimeoutMs: duration(limits.requestTimeout),
    keepAliveMs: duration(limits.keepAlive),
    stalledReaderMs: duration(limits.stalledReader),
    bodyMemory: size(limits.bodyMemory),
  };
}

function mapOf<From, To>(
  record: Readonly<Record<string, From>>,
  resolve: (value: From, name: string) => To,
): ReadonlyMap<string, To> {
  return new Map(Object.entries(record).map(([name, value]) => [name, resolve(value, name)]));
}

function optionalInstant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : instant(text);
}

function freeze<T>(value: T): T {
  if (!isContainer(value) || Object.isFrozen(value)) return value;
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
