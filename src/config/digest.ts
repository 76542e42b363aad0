import { hash } from 'node:crypto';
import type { RawKey } from './schema.ts';

/** SHA-256 of a key's secret in lower-case hex; undefined when the YAML gives neither secret nor hash. */
export function digestOf({ secret, hash: written }: Pick<RawKey, 'secret' | 'hash'>): string | undefined {
  if (secret !== undefined) return hash('sha256', secret);
  return written?.slice('sha256:'.length).toLowerCase();
}
