import { hash } from 'node:crypto';
import type { KeySecret } from '../stores/key-store.ts';
import { KeyProblem } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { hasExpired } from './standing.ts';

const secretsMax = 8;

/** Makes a secret. It is seen here alone: what is kept is its hash. */
export function createSecret(
  { format }: KeyRules,
  number: number,
  createdAt: number,
): { readonly secret: string; readonly kept: KeySecret } {
  const secret = format.create();
  const kept = {
    number,
    digest: hash('sha256', secret),
    start: format.start(secret),
    createdAt,
    expiresAt: undefined,
  };
  return { secret, kept };
}

/** Those that work at a moment, oldest first. */
export function liveSecrets(secrets: readonly KeySecret[], at: number): readonly KeySecret[] {
  return secrets.filter(({ expiresAt }) => !hasExpired(expiresAt, at));
}

/** The secrets that go on working for a while, none of them for longer than it would have. Throws when they are too many. */
export function outlive(
  secrets: readonly KeySecret[],
  { at, overlapMs }: { readonly at: number; readonly overlapMs: number },
): (KeySecret & { readonly expiresAt: number })[] {
  if (overlapMs === 0) return [];
  const others = liveSecrets(secrets, at);
  if (others.length >= secretsMax) throw tooManySecrets();
  return others.map((secret) => ({
    ...secret,
    expiresAt: Math.min(secret.expiresAt ?? Infinity, at + overlapMs),
  }));
}

function tooManySecrets(): KeyProblem {
  return new KeyProblem(
    'conflict',
    `the key has ${secretsMax} secrets that still work, rotate it without an overlap or wait for one to expire`,
  );
}
