import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { printAddress } from '../config/addresses.ts';
import type { Address, Config } from '../config/config.ts';
import type { Log, Logger } from '../telemetry/log.ts';

/** Says once that the gateway is up, where, and by which file, with what is doubtful. */
export function announce(up: { listen: Address; admin: Address }, config: Config, { logger }: Log): void {
  const [listen, admin] = [printAddress(up.listen), printAddress(up.admin)];
  tellDoubts(config, logger);
  const about = { listen, admin, config: resolve(config.file) };
  logger.info(about, `ready: developers call http://${listen}, operators http://${admin}`);
}

/** Says what is doubtful about a configuration, by itself and under this system. */
export function tellDoubts(config: Config, logger: Logger): void {
  for (const warning of config.warnings) logger.warn(warning);
  const shortage = findFileShortage(config);
  if (shortage !== undefined) logger.warn(shortage, tooFewFiles);
}

const tooFewFiles =
  'connections may need more files than a process may have open: raise that (ulimit -n, LimitNOFILE, docker run --ulimit nofile), or lower limits.connections';

/** Files other than connections of callers and to upstreams: listening sockets, the store, the log, uploads on disk. */
const othersMax = 200;

/**
 * Set if a process may open fewer files than its connections may need: under load it would turn callers away. Node has raised the
 * limit already. Where it cannot be read, as outside Linux, no shortage is found.
 */
export function findFileShortage(
  { limits, upstreams }: Pick<Config, 'limits' | 'upstreams'>,
  systemLimits = readSystemLimits(),
): { filesMax: number; needed: number } | undefined {
  const filesMax = Number(/^Max open files +(\d+)/m.exec(systemLimits)?.[1] ?? Infinity);
  const towards = [...upstreams.values()].map(({ targets, connections }) => targets.length * connections);
  const needed = towards.reduce((sum, count) => sum + count, limits.connections + othersMax);
  return filesMax < needed ? { filesMax, needed } : undefined;
}

function readSystemLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
