import { serverNameOf } from '../../../config/addresses.ts';
import { areCertificates, readAuthorities } from '../../../config/certificates.ts';
import type { RedisAddress } from '../../../config/config.ts';
import { readText, UnusableText } from '../../../config/read-text.ts';
import { unavailable } from '../../store-unavailable.ts';

/** What a connection trusts: these authorities or, without any, those that Node trusts. */
export interface Trust {
  readonly ca?: string;
  /** The name to ask a server for, which may have certificates for several. */
  readonly servername?: string;
  /** NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would have nothing verified, if this were not said. */
  readonly rejectUnauthorized?: boolean;
}

/**
 * What connections to these servers trust. The authorities in a file are read whenever a connection is made: a new one is trusted
 * without a restart. While the file cannot be used, the last ones read from it are. Throws when it cannot be used at the start.
 */
export function trustFor({ servers, tls }: RedisAddress): Trust {
  // Where other servers are is learnt from sentinels and nodes, mostly as addresses.
  const name = servers.kind === 'single' ? serverNameOf(servers.address.host) : undefined;
  const trust = { ...(name === undefined ? {} : { servername: name }), rejectUnauthorized: true };
  const file = tls?.caFile;
  if (file === undefined) return trust;
  let last = readAtStart(file);
  return {
    ...trust,
    // The client copies its TLS options for each connection, and so reads this again.
    get ca() {
      try {
        const pem = readText(file);
        // Looking through a bundle of the system takes some milliseconds.
        if (pem !== last && areCertificates(pem)) last = pem;
      } catch {
        // Half a file means that somebody is writing it right now.
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
    throw unavailable(`the file ${file} of its ca ${error.message}`);
  }
}
