import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/helpers/free-port.ts';
import { cores, findProgram, here, need } from './machine.ts';
import { nginxUpstream } from './nginx.ts';
import { start, type Started } from './processes.ts';

/** What every subject of a scenario runs with. */
export interface Surroundings {
  readonly folder: string;
  readonly keys: number;
  /** Answers at once; a small answer or one of 1 MB. */
  readonly upstream: Started;
  /** Reads uploads to their end before it answers. */
  readonly sink: Started;
  readonly redis: Started | undefined;
}

/** Starts upstreams and an empty Redis on the core of the load. */
export async function openSurroundings(folder: string, keys: number): Promise<Surroundings> {
  mkdirSync(folder, { recursive: true });
  const sink = await startPeer('upstream', folder, cores.load, {});
  const upstream = findProgram('nginx') === undefined ? sink : await startUpstream(folder);
  return { folder, keys, upstream, sink, redis: await startRedis(folder) };
}

export async function closeSurroundings({ upstream, sink, redis }: Surroundings): Promise<void> {
  await Promise.all([upstream.stop(), sink.stop(), redis?.stop()]);
}

async function startUpstream(folder: string): Promise<Started> {
  writeFileSync(join(folder, 'big'), Buffer.alloc(1024 * 1024, 'x'));
  return await startNginx(folder, cores.load, (port) => nginxUpstream(port, folder));
}

/** Starts one of the programs in `peers`. */
export async function startPeer(
  name: string,
  folder: string,
  pin: string,
  env: Readonly<Record<string, string>>,
): Promise<Started> {
  const port = await freePort();
  return await start({
    command: process.execPath,
    args: [join(here, 'peers', `${name}.js`)],
    cores: pin,
    port,
    log: join(folder, `${name}.log`),
    env: { BENCH_PORT: String(port), ...env },
  });
}

/** Starts an nginx with a configuration for the port that it gets. */
export async function startNginx(
  folder: string,
  pin: string,
  configure: (port: number) => string,
): Promise<Started> {
  const port = await freePort();
  const file = join(folder, `nginx-${port}.conf`);
  writeFileSync(file, configure(port));
  return await start({
    command: need('nginx'),
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    cores: pin,
    port,
    log: `${file}.log`,
  });
}

/** Starts an empty one, where it is installed. */
export async function startRedis(folder: string): Promise<Started | undefined> {
  const command = findProgram('redis-server');
  if (command === undefined) return undefined;
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  return await start({
    command,
    args: [...args, '--dir', folder],
    cores: cores.load,
    port,
    log: join(folder, 'redis.log'),
  });
}
