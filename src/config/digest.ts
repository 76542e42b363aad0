import { hash } from 'node:crypto';
import { checked } from './checked.ts';
import type { RawConfig } from './schema.ts';

/** The name of `admin.token`, which has none of its own. */
export const plainTokenName = 'admin';

/** What a shell hashes when the variable is not set. */
export const digestOfNothing = hash('sha256', '');

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

/** A checked configuration with hashes for the keys and tokens, `admin.token` first among these. */
export function hashSecrets(raw: RawConfig): RawConfig {
  const { token, tokens } = raw.admin;
  const plain = token === '' ? [] : [{ name: plainTokenName, token, role: 'write' } as const];
  return {
    ...raw,
    keys: raw.keys.map((key) => {
      const { secret: _, ...rest } = key;
      return { ...rest, hash: write(digestOf(key)) };
    }),
    admin: {
      ...raw.admin,
      token: '',
      tokens: [...plain, ...tokens].map((one) => ({
        name: one.name,
        role: one.role,
        hash: write(digestOf(one)),
      })),
    },
  };
}

function write(digest: string | undefined): string {
  return `sha256:${checked(digest)}`;
}
