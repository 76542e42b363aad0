import { hash } from 'node:crypto';
import type { RawConfig, RawToken } from './schema.ts';

/** The name of `admin.token`, which has none of its own. */
export const plainTokenName = 'admin';

/** What a shell hashes when the variable is not set. */
export const digestOfNothing = hash('sha256', '');

/** All tokens, `admin.token` first. */
export function tokensOf({ token, tokens }: RawConfig['admin']): readonly RawToken[] {
  return token === '' ? tokens : [{ name: plainTokenName, token, role: 'write' }, ...tokens];
}

/** A key or a token of the second listener, as far as its secret is written. */
type WrittenSecret = Readonly<Partial<Record<'secret' | 'token' | 'hash', string>>>;

/** SHA-256 of the secret in lower-case hex; undefined when it is written neither plainly nor as a hash. */
export function digestOf({ secret, token = secret, hash: written }: WrittenSecret): string | undefined {
  return token === undefined ? writtenDigest(written) : hash('sha256', token);
}

/** The same of one that is written as a hash. */
export function writtenDigest(written: string | undefined): string | undefined {
  return written?.slice('sha256:'.length).toLowerCase();
}
