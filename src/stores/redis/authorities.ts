import { readFileSync } from 'node:fs';
import { serverNameOf } from '../../config/addresses.ts';
import { areCertificates } from '../../config/certificates.ts';
import type { RedisAddress } from '../../config/config.ts';
import { StoreUnavailable } from '../ledger.ts';

/** What a connection trusts: these authorities, or without any those that Node trusts. */
export interface Trust {
  readonly ca?: string;
  /** The name that a server is told, which may have certificates for several. */
  readonly servername?: string;
}

/** What connections to these servers trust. */
export function trustFor({ servers, tls }: RedisAddress): Trust {
  // Where the others are is learnt from sentinels and nodes, mostly as addresses.
  const name = servers.kind === 'single' ? serverNameOf(servers.address.host) : undefined;
  return Object.assign(followAuthorities(tls?.caFile), name === undefined ? {} : { servername: name });
}

/**
 * The authorities in a file, as it has them whenever a connection is made: a new one is trusted without a restart. While the
 * file cannot be used, those that it had last are. Throws when it cannot be used at the start.
 */
function followAuthorities(file: string | undefined): Trust {
  if (file === undefined) return {};
  let last = check(file, read(file));
  return {
    // The client copies its TLS options for each connection, and so asks for this anew.
    get ca() {
      try {
        const pem = read(file);
        // A bundle of the system takes some milliseconds to look through.
        if (pem !== last) last = check(file, pem);
      } catch {
        // Half a file is what somebody is writing at this moment.
      }
      return last;
    },
  };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw unusable(`cannot read the authorities in ${file}`);
  }
}

function check(file: string, pem: string): string {
  if (areCertificates(pem)) return pem;
  throw unusable(`${file} is not PEM certificates`);
}

function unusable(message: string): StoreUnavailable {
  return new StoreUnavailable(message, { mayHaveHappened: false });
}
