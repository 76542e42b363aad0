import type { RefusalCode, RefusalWording } from '../refusals.ts';
import type { SchemaRule } from './body-schema/compile-schema.ts';
import type { PlanRule } from './plan-rule.ts';
import type { Rebase } from './rebase.ts';
import type { UploadRule } from './upload-rule.ts';

/**
 * The whole configuration after loading: complete, frozen, durations in milliseconds, sizes in bytes. The schema says what each
 * option is for; here stands what it has become. Nothing is optional, so no code on the path of a request has to think about
 * defaults.
 */
export interface Config {
  readonly file: string;
  readonly listen: Address;
  /** Without tokens the second listener asks for none, and keys cannot be administered there. */
  readonly admin: { readonly listen: Address; readonly tokens: readonly AdminToken[] };
  /** Processes that serve; with more than one, another leads them. */
  readonly workers: number;
  readonly trustProxy: readonly string[];
  readonly store: StoreAddress;
  readonly storeDeadlineMs: number;
  readonly auth: AuthConfig;
  readonly plans: ReadonlyMap<string, Plan>;
  readonly keys: readonly StaticKey[];
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  readonly versions: ReadonlyMap<string, Version>;
  readonly routes: readonly Route[];
  /** Where callers read their own usage, the base path included; undefined = nowhere. */
  readonly usagePath: string | undefined;
  readonly errors: ReadonlyMap<RefusalCode, RefusalWording>;
  readonly limits: Limits;
  readonly spool: SpoolConfig;
  readonly forwarded: boolean;
  readonly drain: { readonly delayMs: number; readonly timeoutMs: number };
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  /** What is allowed but doubtful, as `file:line:column: path: sentence`, for people to read at start. */
  readonly warnings: readonly string[];
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export type StoreAddress = { readonly kind: 'sqlite'; readonly path: string } | RedisAddress;

export interface RedisAddress {
  readonly kind: 'redis';
  readonly servers: RedisServers;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Always 0 in a cluster. */
  readonly db: number;
  /** `caFile`: PEM of the authorities to trust; undefined = those that Node trusts. */
  readonly tls: { readonly caFile: string | undefined } | undefined;
  /** In front of every key that the gateway writes, so that it can share a Redis. Never holds a brace. */
  readonly prefix: string;
}

export type RedisServers =
  | { readonly kind: 'single'; readonly address: Address }
  | {
      readonly kind: 'sentinel';
      readonly sentinels: readonly Address[];
      readonly master: string;
      readonly sentinelUsername: string | undefined;
      readonly sentinelPassword: string | undefined;
    }
  /** Some nodes to begin with; they name the others. */
  | { readonly kind: 'cluster'; readonly nodes: readonly Address[] };

export interface AuthConfig {
  /** The key comes in one of these. As written in the YAML; compared in any letter case. */
  readonly headers: readonly string[];
  readonly forwardKey: boolean;
  readonly cacheForMs: number;
  readonly graceOnOutageMs: number;
  /** Put before every secret that is made, followed by an underscore. */
  readonly prefix: string;
  /** How many invalid keys one network may send; undefined = any number. */
  readonly guessing: { readonly failuresMax: number; readonly perMs: number } | undefined;
}

/** A token of the second listener. The token itself is hashed while loading and kept nowhere. */
export interface AdminToken {
  /** What the audit log calls its holder. */
  readonly name: string;
  /** SHA-256 of the token, 64 lower-case hex digits. */
  readonly digest: string;
  readonly role: AdminRole;
}

export type AdminRole = 'read' | 'write';

export interface Plan extends PlanRule {
  readonly name: string;
}

/** A key from the YAML. The secret itself is hashed while loading and kept nowhere. */
export interface StaticKey {
  readonly id: string;
  readonly plan: string;
  /** '' for none. */
  readonly owner: string;
  /** SHA-256 of the secret, 64 lower-case hex digits. */
  readonly digest: string;
  readonly enabled: boolean;
  readonly expiresAt: number | undefined;
}

export interface UpstreamConfig {
  readonly name: string;
  /** Origins, `http://host:port` or `https://host`, without a path. */
  readonly targets: readonly string[];
  readonly timeouts: { readonly connectMs: number; readonly responseMs: number; readonly idleMs: number };
  /** Undefined where nobody asks. */
  readonly health: HealthRule | undefined;
  /** Requests at work at each target, at most. WebSockets do not count. */
  readonly connections: number;
  readonly preserveHost: boolean;
  /** PEM text of the authorities to trust for https targets; undefined = those that Node trusts. */
  readonly ca: string | undefined;
}

/** How targets are asked whether they are healthy. */
export interface HealthRule {
  /** Path and query. */
  readonly path: string;
  readonly everyMs: number;
  readonly timeoutMs: number;
  /** Undefined = the target's own. */
  readonly host: string | undefined;
}

export interface Version {
  readonly name: string;
  readonly upstream: string;
  /** Milliseconds since the epoch. */
  readonly deprecatedAt: number | undefined;
  readonly sunsetAt: number | undefined;
  readonly link: string | undefined;
  readonly afterSunset: 'serve' | 'gone';
}

export interface Route {
  /** Shown in logs and metrics: the `name` of the YAML, or its path. Unique with `methods`. */
  readonly name: string;
  /** With the base path in front. Segments are literal or `:name`; a last segment `*` takes the rest. */
  readonly path: string;
  /** Upper case; HEAD is added where GET is allowed. */
  readonly methods: readonly string[];
  readonly upstream: string;
  /** Undefined where the upstream gets the path as the caller wrote it. */
  readonly rebase: Rebase | undefined;
  /** The version of the route's first segment after the base path, if the YAML describes it. */
  readonly version: Version | undefined;
  readonly cost: number;
  /** Folded name of the response header in which the upstream says what the request really cost. */
  readonly costHeader: string | undefined;
  readonly body: BodyRule;
  /** Undefined where the connection stays HTTP. */
  readonly upgrade: UpgradeRule | undefined;
}

/** What is asked of WebSockets on a route. */
export interface UpgradeRule {
  readonly idleMs: number;
  readonly socketsMax: number;
}

/** How fast a body must arrive. */
export interface ArrivalRule {
  /** For all of it. */
  readonly timeoutMs: number;
  /** While waiting for the client; 0 for no minimum. */
  readonly bytesPerSecondMin: number;
}

/** What uploads may take while they wait until each has passed in full. */
export interface SpoolConfig {
  readonly memoryMax: number;
  readonly diskMax: number;
  readonly directory: string;
}

export type BodyRule = { readonly kind: 'none' } | JsonBodyRule | UploadBodyRule | AnyBodyRule;

export interface JsonBodyRule {
  readonly kind: 'json';
  readonly sizeMax: number;
  readonly depthMax: number;
  readonly valuesMax: number;
  readonly suffixed: boolean;
  readonly schema: SchemaRule | undefined;
}

export interface UploadBodyRule {
  readonly kind: 'upload';
  readonly upload: UploadRule;
  readonly arrival: ArrivalRule;
}

export interface AnyBodyRule {
  readonly kind: 'any';
  readonly sizeMax: number;
  readonly arrival: ArrivalRule;
}

export interface Limits {
  readonly connections: number;
  readonly inFlight: number;
  readonly inFlightPerConnection: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly headerTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly stalledReaderMs: number;
  readonly bodyMemory: number;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
export type LogFormat = 'json' | 'pretty' | 'auto';
