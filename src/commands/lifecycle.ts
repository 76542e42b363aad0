import { codeOf } from '../content/error-code.ts';
import { printAddress } from '../config/addresses.ts';
import type { Address, Config } from '../config/config.ts';
import { findFileShortage } from './file-shortage.ts';
import { endedBy, exitCodes } from './exit-codes.ts';
import { describeCause, type Log } from '../telemetry/log.ts';
import { endPatienceMs } from '../waiting/patience.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import { SpoolUnavailable } from '../uploads/spool.ts';

/** A fault nobody caught leaves the process in an unknown state: it is logged, and the process ends, to be started again. */
export function watchForFaults({ logger, flush }: Log): void {
  let ending = false;
  const end = (cause: unknown): void => {
    logger.fatal({ cause: describeCause(cause) }, 'a fault of the gateway itself, please report it');
    if (ending) return;
    ending = true;
    // Twice, for the faults that come meanwhile.
    void flush()
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

/** Says once that the gateway is up, and where, with warnings about its configuration and the system under it. */
export function announce(up: { listen: Address; admin: Address }, config: Config, { logger }: Log): void {
  const [listen, admin] = [printAddress(up.listen), printAddress(up.admin)];
  const shortage = findFileShortage(config);
  for (const warning of config.warnings) logger.warn(warning);
  if (shortage !== undefined) logger.warn(shortage, tooFewFiles);
  logger.info({ listen, admin }, `ready: developers call http://${listen}, operators http://${admin}`);
}

const tooFewFiles =
  'connections may need more files than a process may have open: raise that (ulimit -n, LimitNOFILE, docker run --ulimit nofile), or lower limits.connections';

/** A worker could not start. One that a signal ended has said nothing; any other has said why on standard error. */
export class CannotStart extends Error {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly wasTooSlow: boolean;

  /** A worker that was too slow was killed by its leading process. */
  constructor(code: number | null, signal: string | null, wasTooSlow = false) {
    super('A worker could not start');
    // Ctrl-C reaches all processes of a terminal, including workers that do not yet leave it to the leading one.
    this.exitCode = code ?? (signal === 'SIGINT' ? endedBy.SIGINT : exitCodes.internal);
    this.signal = signal;
    this.wasTooSlow = wasTooSlow;
  }
}

/** Says on standard error why the gateway cannot start, and returns the exit code for it. */
export function explainStart(error: unknown, config: Config): number {
  if (error instanceof SpoolUnavailable) {
    process.stderr.write(`gatehouse: ${error.message}\n`);
    return exitCodes.unavailable;
  }
  if (error instanceof CannotStart) {
    const { signal, exitCode, wasTooSlow } = error;
    if (wasTooSlow) {
      process.stderr.write('gatehouse: the first worker took too long to start and was killed\n');
    } else if (signal !== null && signal !== 'SIGINT') {
      const doubt = signal === 'SIGKILL' ? ': is there enough memory for it?' : '';
      process.stderr.write(`gatehouse: the first worker was ended by ${signal} while it started${doubt}\n`);
    }
    return exitCode;
  }
  if (error instanceof StoreUnavailable) {
    process.stderr.write(`gatehouse: the store cannot be opened: ${error.message}\n`);
    return exitCodes.store;
  }
  if (error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('spawn')) {
    process.stderr.write(`gatehouse: no process can be made for a worker: ${error.message}\n`);
    return exitCodes.unavailable;
  }
  if (error instanceof Error && 'syscall' in error && listenCalls.has(error.syscall)) {
    process.stderr.write(`gatehouse: cannot listen on ${busyAddress(error, config)}\n`);
    return exitCodes.unavailable;
  }
  throw error;
}

/** A worker learns from its leading process that the address cannot be bound. */
const listenCalls = new Set<unknown>(['listen', 'bind', 'getaddrinfo']);

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses it',
  EACCES: 'this user may not open it',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name is unknown',
};

function busyAddress(error: Error, config: Config): string {
  const host = 'hostname' in error ? error.hostname : 'address' in error ? error.address : undefined;
  const port = 'port' in error ? error.port : undefined;
  const { listen, admin } = config;
  // The system names an address by its numbers, whatever the configuration calls it, so the port tells more.
  const isOfCallers =
    port === undefined || listen.port === admin.listen.port ? listen.host === host : listen.port === port;
  const [option, address] = isOfCallers ? ['listen', listen] : ['admin.listen', admin.listen];
  return `${printAddress(address)} (${option}): ${listenReasons[codeOf(error) ?? ''] ?? error.message}`;
}
