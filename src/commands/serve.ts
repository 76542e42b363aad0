import type { Address, Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { ConfigErrors, ConfigUnreadable } from '../config/problems.ts';
import { exitCodes } from '../exit-codes.ts';
import { startGateway, type Gateway } from '../gateway.ts';
import { createLog, describeCause, type Log } from '../log.ts';
import { settleHeap } from '../settle-heap.ts';
import { StoreUnavailable } from '../stores/ledger.ts';

/** `gatehouse serve`: runs the gateway until a signal stops it, and resolves with the exit code. */
export async function serve(file: string): Promise<number> {
  let config: Config;
  try {
    config = loadConfig(file, process.env);
  } catch (error) {
    return explainConfig(error);
  }
  const log = await createLog(config.log.level, config.log.format);
  watchForFaults(log);
  settleHeap();
  let gateway: Gateway;
  try {
    gateway = await startGateway(config, log.logger);
  } catch (error) {
    return explainStart(error, config);
  }
  announce(gateway, config, log);
  await run(gateway, config, log);
  return exitCodes.ok;
}

async function run(gateway: Gateway, config: Config, log: Log): Promise<void> {
  const signal = await nextSignal();
  endOnNextSignal();
  log.logger.info({ signal }, `stopping: what is in flight has ${config.drain.timeoutMs / 1000} s to finish`);
  await gateway.drain();
  log.logger.info('stopped');
  await log.flush();
}

function announce(gateway: Gateway, config: Config, { logger }: Log): void {
  const [listen, admin] = [print(gateway.listen), print(gateway.admin)];
  for (const warning of config.warnings) logger.warn(warning);
  logger.info({ listen, admin }, `ready: developers call http://${listen}, operators http://${admin}`);
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

/** Of either kind: who asks twice, in whatever way, does not want to wait. */
function endOnNextSignal(): void {
  for (const [signal, number] of Object.entries(signalNumbers)) {
    process.once(signal, () => process.exit(128 + number));
  }
}

function nextSignal(): Promise<keyof typeof signalNumbers> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(signal as keyof typeof signalNumbers);
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
  });
}

/** A fault nobody caught leaves the process in an unknown state: it is logged, and the process ends to be started anew. */
function watchForFaults({ logger, flush }: Log): void {
  const end = (cause: unknown): void => {
    logger.fatal({ cause: describeCause(cause) }, 'a fault of the gateway itself, please report it');
    void flush().then(() => process.exit(exitCodes.internal));
  };
  process.once('uncaughtException', end);
  process.once('unhandledRejection', end);
}

/** Says on standard error what is wrong with the configuration, and gives the exit code for it. */
export function explainConfig(error: unknown): number {
  if (error instanceof ConfigUnreadable) {
    process.stderr.write(`gatehouse: ${error.message}\n`);
    return exitCodes.noInput;
  }
  if (error instanceof ConfigErrors) {
    process.stderr.write(
      `${error.message}\ngatehouse: the configuration is not valid, nothing was started\n`,
    );
    return exitCodes.config;
  }
  throw error;
}

function explainStart(error: unknown, config: Config): number {
  if (error instanceof StoreUnavailable) {
    process.stderr.write(`gatehouse: the store cannot be opened: ${error.message}\n`);
    return exitCodes.store;
  }
  if (error instanceof Error && 'syscall' in error && listenCalls.has(error.syscall)) {
    process.stderr.write(`gatehouse: cannot listen on ${busyAddress(error, config)}\n`);
    return exitCodes.unavailable;
  }
  throw error;
}

const listenCalls = new Set<unknown>(['listen', 'getaddrinfo']);

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses it',
  EACCES: 'this user may not open it',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name is unknown',
};

function busyAddress(error: Error, config: Config): string {
  const host = 'hostname' in error ? error.hostname : 'address' in error ? error.address : undefined;
  const port = 'port' in error ? error.port : undefined;
  const failed = (at: Address): boolean => at.host === host && (port === undefined || at.port === port);
  const [option, address] = failed(config.listen)
    ? ['listen', config.listen]
    : ['admin.listen', config.admin.listen];
  const code = 'code' in error ? String(error.code) : '';
  return `${print(address)} (${option}): ${listenReasons[code] ?? error.message}`;
}

function print({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
