import { serverNameOf } from '../../config/addresses.ts';
import { areCertificates, readAuthorities } from '../../config/certificates.ts';
import type { RedisAddress } from '../../config/config.ts';
import { readText, UnusableText } from '../../config/read-text.ts';
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
  let last = readAtStart(file);
  return {
    // The client copies its TLS options for each connection, and so asks for this anew.
    get ca() {
      try {
        const pem = readText(file);
        // A bundle of the system takes some milliseconds to look through.
        if (pem !== last && areCertificates(pem)) last = pem;
      } catch {
        // Half a file is what somebody is writing at this moment.
      }
      return last;
    },
  };
}

function readAtStart(file: string): string {
  try {
    return readAuthorities(file);
  } catch (error) {
    if (!(error instanceof UnusableText)) throw error;
    throw new StoreUnavailable(`the file ${file} of its ca ${error.message}`, { mayHaveHappened: false });
  }
}
