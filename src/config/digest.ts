import { hash } from 'node:crypto';
import type { RawConfig, RawKey, RawToken } from './schema.ts';

/** The name of `admin.token`, which has none of its own. */
export const plainTokenName = 'admin';

/** What a shell hashes when the variable is not set. */
export const digestOfNothing = hash('sha256', '');

/** All tokens, `admin.token` first. */
export function tokensOf({ token, tokens }: RawConfig['admin']): readonly RawToken[] {
  return token === '' ? tokens : [{ name: plainTokenName, token, role: 'write' }, ...tokens];
}

/** SHA-256 of a key's secret in lower-case hex; undefined when the YAML gives neither secret nor hash. */
export function keyDigest({ secret, hash: written }: Pick<RawKey, 'secret' | 'hash'>): string | undefined {
  return secret === undefined ? writtenDigest(written) : hash('sha256', secret);
}

/** The same for a token of the second listener. */
export function tokenDigest({ token, hash: written }: Pick<RawToken, 'token' | 'hash'>): string | undefined {
  return token === undefined ? writtenDigest(written) : hash('sha256', token);
}

/** The same of one that is written as a hash. */
export function writtenDigest(written: string | undefined): string | undefined {
  return written?.slice('sha256:'.length).toLowerCase();
}
