import { resolve } from 'node:path';
import { setImmediate as turnOver } from 'node:timers/promises';
import { printAddress } from '../config/addresses.ts';
import type { Address, Config } from '../config/config.ts';
import { describeCause, type Log } from '../telemetry/log.ts';
import { endPatienceMs } from '../waiting/patience.ts';
import { exitCodes } from './exit-codes.ts';
import { findFileShortage } from './file-shortage.ts';

/** A fault nobody caught leaves the process in an unknown state: it is logged, and the process ends, to be started again. */
export function watchForFaults({ logger, flush }: Log): void {
  let ending = false;
  const end = (cause: unknown): void => {
    logger.fatal({ cause: describeCause(cause) }, 'a fault of the gateway itself, please report it');
    if (ending) return;
    ending = true;
    // Twice, for the faults that come meanwhile: rejections beside an error that was thrown are told of a turn later.
    void flush()
      .then(() => turnOver())
      .then(flush)
      .then(() => process.exit(exitCodes.internal));
  };
  // `on`, not `once`: faults often come together, and one without a listener would end the process before the log is out.
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** How long a worker may take from being told to drain until it ends. */
export function drainPatienceMs({ drain }: Config): number {
  return drain.delayMs + drain.timeoutMs + endPatienceMs;
}

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
