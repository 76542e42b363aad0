import { printAddress } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { codeOf } from '../content/error-code.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import { SpoolUnavailable } from '../uploads/spool.ts';
import { endedBy, exitCodes } from './exit-codes.ts';

/** A worker could not start. One that a signal ended has said nothing; any other has said why on standard error. */
export class CannotStart extends Error {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly wasTooSlow: boolean;

  /** A worker that was too slow was killed by its leading process. */
  constructor(code: number | null, signal: string | null, wasTooSlow = false) {
    super('A worker could not start');
    // Ctrl-C reaches all processes of a terminal, and a supervisor may tell all of a group to end: including workers that do not yet
    // leave that to the leading one.
    const wasAsked = signal === 'SIGINT' || signal === 'SIGTERM';
    this.exitCode = code ?? (wasAsked ? endedBy[signal] : exitCodes.internal);
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
    process.stderr.write(`gatehouse: cannot listen on ${failedAddress(error, config)}\n`);
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

function failedAddress(error: Error, config: Config): string {
  const host = 'hostname' in error ? error.hostname : 'address' in error ? error.address : undefined;
  const port = 'port' in error ? error.port : undefined;
  const { listen, admin } = config;
  // The system names an address by its numbers, whatever the configuration calls it, so the port tells more.
  const isOfCallers =
    port === undefined || listen.port === admin.listen.port ? listen.host === host : listen.port === port;
  const [option, address] = isOfCallers ? ['listen', listen] : ['admin.listen', admin.listen];
  return `${printAddress(address)} (${option}): ${listenReasons[codeOf(error) ?? ''] ?? error.message}`;
}
