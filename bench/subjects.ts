import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/helpers/free-port.ts';
import { CannotRun } from './cannot-run.ts';
import { gatewayYaml, type Variant } from './gateway-yaml.ts';
import { importKeys } from './import-keys.ts';
import { adviceFor, cores, findLua, here, main, need } from './machine.ts';
import { nginxLua, nginxProxy } from './nginx.ts';
import { start, type Started } from './processes.ts';
import { startNginx, startPeer, startRedis, type Surroundings } from './surroundings.ts';

/** Something that is measured. */
export interface Subject {
  readonly name: string;
  /** What it is, for the page of results. */
  readonly about: string;
  readonly kind: 'gateway' | 'peer' | 'passthrough';
  /** Compiled while it runs: Node needs some 60,000 requests before it goes at full speed. */
  readonly warmsUp: boolean;
  /** How many keys it knows, and how many of them are called, if fewer than by the others of its scenario. */
  readonly keys?: number;
  /** Starts it, pinned to its core. Rejects with CannotRun if that is not a fault. */
  readonly start: (around: Surroundings) => Promise<Started>;
}

const base: Variant = { store: 'redis', quotas: 'leased', keysIn: 'file', uploads: undefined, workers: 1 };

/** Everything that can be measured. */
export const subjects: readonly Subject[] = [
  {
    name: 'direct',
    about: 'the load on the upstream itself',
    kind: 'passthrough',
    warmsUp: false,
    start: async ({ upstream }) => ({ ...upstream, pid: 0, stop: async () => undefined }),
  },
  { name: 'nginx', about: 'nginx, one worker', kind: 'passthrough', warmsUp: false, start: startProxy },
  {
    name: 'haproxy',
    about: 'haproxy, one thread',
    kind: 'passthrough',
    warmsUp: false,
    start: startHaproxy,
  },
  node('node + undici', 'bare-undici', 'node:http and undici dispatch, no policy', 'passthrough'),
  node('http-proxy', 'http-proxy', 'node:http and http-proxy, no policy', 'passthrough'),
  node('constant', 'constant', 'node:http answering everyone the same 401', 'passthrough'),
  {
    name: 'nginx + lua + redis',
    about: 'nginx with the policy in Lua, Redis asked for each request',
    kind: 'peer',
    warmsUp: false,
    start: startLua,
  },
  node('fastify', 'fastify', 'fastify, @fastify/http-proxy, Ajv, ioredis', 'peer'),
  node('express', 'express', 'express, http-proxy-middleware, Ajv, rate-limiter-flexible, pino-http', 'peer'),
  gateway('gatehouse', 'Redis, leased', {}),
  gateway('gatehouse strict', 'Redis, asked for each request', { quotas: 'strict' }),
  gateway('gatehouse sqlite', 'SQLite, leased', { store: 'sqlite' }),
  gateway('gatehouse sqlite strict', 'SQLite, asked for each request', { store: 'sqlite', quotas: 'strict' }),
  gateway('gatehouse no quota', 'SQLite, plans without limits', { store: 'sqlite', quotas: 'none' }),
  gateway('gatehouse uploads', 'Redis, leased, uploads checked before they are forwarded', {
    uploads: 'whole',
  }),
  gateway('gatehouse uploads stream', 'Redis, leased, uploads checked while they are forwarded', {
    uploads: 'stream',
  }),
  gateway('gatehouse stored keys', 'Redis, leased, keys in the store', { keysIn: 'store' }),
  fewKeys('gatehouse 1,000 stored keys', 'the same with 1,000 keys, in a Redis of its own', 1000),
  gateway('gatehouse sqlite stored keys', 'SQLite, leased, keys in the store', {
    store: 'sqlite',
    keysIn: 'store',
  }),
  gateway('gatehouse on all cores', 'Redis, leased, one process, not pinned', {}, cores.all),
  gateway('gatehouse 2 workers', 'Redis, leased, two workers, not pinned', { workers: 2 }, cores.all),
  gateway(
    'gatehouse sqlite 2 workers',
    'SQLite, leased, two workers, not pinned',
    { store: 'sqlite', workers: 2 },
    cores.all,
  ),
];

function gateway(name: string, about: string, over: Partial<Variant>, pin: string = cores.subject): Subject {
  return {
    name,
    about,
    kind: 'gateway',
    warmsUp: true,
    start: (around) => startGateway({ ...base, ...over }, around, { pin }),
  };
}

/** To be measured in turn with one that knows many keys. */
function fewKeys(name: string, about: string, keys: number): Subject {
  return {
    ...gateway(name, about, {}),
    keys,
    start: async (around) => {
      const folder = join(around.folder, String(keys));
      mkdirSync(folder, { recursive: true });
      const redis = await startRedis(folder);
      const variant: Variant = { ...base, keysIn: 'store' };
      try {
        const started = await startGateway(
          variant,
          { ...around, folder, keys, redis },
          { pin: cores.subject },
        );
        return { ...started, stop: async () => void (await Promise.all([started.stop(), redis?.stop()])) };
      } catch (error) {
        await redis?.stop();
        throw error;
      }
    },
  };
}

interface GatewayOptions {
  /** The cores that it may use. */
  readonly pin: string;
  /** For Node. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the gateway of this checkout, with the keys where the variant has them. */
export async function startGateway(
  variant: Variant,
  around: Surroundings,
  { pin, flags = [], env = {} }: GatewayOptions,
): Promise<Started> {
  if (variant.store === 'redis') need('redis-server');
  const ports = { listen: await freePort(), admin: await freePort() };
  const file = join(around.folder, `gateway-${ports.listen}.yaml`);
  writeFileSync(file, gatewayYaml(variant, ports, around));
  if (variant.keysIn === 'store') await importKeys(file, around);
  return await start({
    command: process.execPath,
    args: [...flags, main, 'serve', '--config', file],
    env,
    cores: pin,
    port: ports.listen,
    log: `${file}.log`,
    cwd: around.folder,
  });
}

function node(name: string, file: string, about: string, kind: Subject['kind']): Subject {
  return {
    name,
    about,
    kind,
    warmsUp: true,
    start: async ({ folder, keys, upstream, sink, redis }) => {
      if (kind === 'peer') need('redis-server');
      return await startPeer(file, folder, cores.subject, {
        NODE_ENV: 'production',
        BENCH_UPSTREAM: `http://127.0.0.1:${upstream.port}`,
        BENCH_SINK: `http://127.0.0.1:${sink.port}`,
        BENCH_REDIS_PORT: String(redis?.port ?? 0),
        BENCH_KEYS: String(keys),
      });
    },
  };
}

function startProxy({ folder, upstream, sink }: Surroundings): Promise<Started> {
  const urls = { upstream: `127.0.0.1:${upstream.port}`, sink: `127.0.0.1:${sink.port}` };
  return startNginx(folder, cores.subject, (port) => nginxProxy(port, folder, urls));
}

async function startLua({ folder, upstream, sink, keys, redis }: Surroundings): Promise<Started> {
  need('redis-server');
  need('nginx');
  const modules = findLua();
  if (modules === undefined) throw new CannotRun(`nginx has no Lua here; ${adviceFor('nginx')}`);
  const gate = {
    modules,
    folder: join(here, 'peers'),
    redisPort: redis?.port ?? 0,
    keys,
    upstream: `127.0.0.1:${upstream.port}`,
    sink: `127.0.0.1:${sink.port}`,
  };
  return await startNginx(folder, cores.subject, (port) => nginxLua(port, folder, gate));
}

async function startHaproxy({ folder, upstream }: Surroundings): Promise<Started> {
  const command = need('haproxy');
  const port = await freePort();
  const page = `
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option http-keep-alive
  http-reuse always
listen pass
  bind 127.0.0.1:${port}
  server upstream 127.0.0.1:${upstream.port}
`;
  const file = join(folder, 'haproxy.conf');
  writeFileSync(file, page);
  return await start({ command, args: ['-f', file], cores: cores.subject, port, log: `${file}.log` });
}
