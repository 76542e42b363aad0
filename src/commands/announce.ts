import { resolve } from 'node:path';
import { printAddress } from '../config/addresses.ts';
import type { Address, Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { findFileShortage } from './file-shortage.ts';

/** Says once that the gateway is up, where, and by which file, with warnings about its configuration and the system under it. */
export function announce(up: { listen: Address; admin: Address }, config: Config, { logger }: Log): void {
  const [listen, admin] = [printAddress(up.listen), printAddress(up.admin)];
  const shortage = findFileShortage(config);
  for (const warning of config.warnings) logger.warn(warning);
  if (shortage !== undefined) logger.warn(shortage, tooFewFiles);
  const about = { listen, admin, config: resolve(config.file) };
  logger.info(about, `ready: developers call http://${listen}, operators http://${admin}`);
}

const tooFewFiles =
  'connections may need more files than a process may have open: raise that (ulimit -n, LimitNOFILE, docker run --ulimit nofile), or lower limits.connections';
