import { printAddress } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { codeOf } from '../content/error-code.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { SpoolUnavailable } from '../uploads/spool.ts';
import { exitCodes } from './exit-codes.ts';
import { CannotStart } from './workers/worker-end.ts';

/** Says on standard error why the gateway cannot start, and returns the exit code for it. */
export function explainStart(error: unknown, config: Config): number {
  const [code, sentence] = reasonOf(error, config);
  if (sentence !== undefined) process.stderr.write(`gatehouse: ${sentence}\n`);
  return code;
}

type Reason = readonly [exitCode: number, sentence: string | undefined];

function reasonOf(error: unknown, config: Config): Reason {
  if (error instanceof SpoolUnavailable) return [exitCodes.unavailable, error.message];
  if (error instanceof CannotStart) return [error.exitCode, error.reason];
  if (error instanceof StoreUnavailable)
    return [exitCodes.store, `the store cannot be opened: ${error.message}`];
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  if (String(error.syscall).startsWith('spawn'))
    return [exitCodes.unavailable, `no process can be made for a worker: ${error.message}`];
  if (listenCalls.has(error.syscall))
    return [exitCodes.unavailable, `cannot listen on ${failedAddress(error, config)}`];
  if (codeOf(error) === 'EMFILE') return [exitCodes.unavailable, noMoreFiles];
  throw error;
}

const noMoreFiles = 'this process may open no more files (ulimit -n)';

/** A worker learns from its leading process that the address cannot be bound. */
const listenCalls = new Set<unknown>(['listen', 'bind', 'getaddrinfo']);

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses it',
  EACCES: 'this user may not open it',
  EADDRNOTAVAIL: 'this machine has no such address',
  EMFILE: noMoreFiles,
  EAFNOSUPPORT: 'this machine has no IPv6',
  EINVAL: 'a link-local address needs its interface, as in [fe80::1%eth0]:8080',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'no resolver says what its host name means, an address needs none',
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
