import { hash } from 'node:crypto';
import { writeInstant } from '../config/instants.ts';
import type { KeyRecord, KeySecret } from '../stores/key-store.ts';
import { KeyProblem } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { hasExpired } from './standing.ts';

const secretsMax = 8;

/** Makes a secret. It is seen only here: what is kept is its hash. */
export function createSecret(
  { format }: KeyRules,
  number: number,
  createdAt: number,
): { readonly secret: string; readonly kept: KeySecret } {
  const secret = format.create();
  const kept = {
    number,
    digest: hash('sha256', secret),
    start: format.startOf(secret),
    createdAt,
    expiresAt: undefined,
  };
  return { secret, kept };
}

/** Those that work at a moment, oldest first. */
export function liveSecrets(secrets: readonly KeySecret[], at: number): readonly KeySecret[] {
  return secrets.filter(({ expiresAt }) => !hasExpired(expiresAt, at));
}

export interface NewSecret {
  readonly secret: string;
  /** Until when the secrets before this one work at the latest, in ISO 8601; null when they no longer do. */
  readonly othersUntil: string | null;
}

/** Gives a key a new secret; those that it has go on working for a while. */
export function rotateSecrets(
  record: KeyRecord,
  rules: KeyRules,
  { at, overlapMs }: { readonly at: number; readonly overlapMs: number },
): { readonly record: KeyRecord; readonly made: NewSecret } {
  const others = overlapMs === 0 ? [] : outlive(record.secrets, at, overlapMs);
  const fresh = createSecret(rules, Math.max(0, ...record.secrets.map(({ number }) => number)) + 1, at);
  const until = others.length === 0 ? undefined : Math.max(...others.map(({ expiresAt }) => expiresAt));
  return {
    record: { ...record, secrets: [...others, fresh.kept] },
    made: { secret: fresh.secret, othersUntil: writeInstant(until) },
  };
}

/** None works for longer than it would have. Throws when there are too many. */
function outlive(
  secrets: readonly KeySecret[],
  at: number,
  overlapMs: number,
): (KeySecret & { readonly expiresAt: number })[] {
  const others = liveSecrets(secrets, at);
  if (others.length >= secretsMax) {
    const why = `the key has ${secretsMax} secrets that still work, rotate it without an overlap or wait for one to expire`;
    throw new KeyProblem('conflict', why);
  }
  return others.map((secret) => ({
    ...secret,
    expiresAt: Math.min(secret.expiresAt ?? Infinity, at + overlapMs),
  }));
}
