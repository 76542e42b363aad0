import { createHash, randomUUID } from 'node:crypto';
import { emptyFields } from '../../src/keys/key-fields.ts';
import type { AuditNote, KeyRecord, KeySecret } from '../../src/stores/key-store.ts';

/** A key of one secret, as a store keeps it. */
export function aKey(over: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: `k-${randomUUID()}`,
    version: 1,
    ...emptyFields,
    plan: 'free',
    revokedAt: undefined,
    createdAt: 1_000,
    secrets: [aSecret()],
    requests: [],
    ...over,
  };
}

/** The stored form of a secret. */
export function aSecret(over: Partial<KeySecret> = {}): KeySecret {
  return {
    number: 1,
    digest: digestOf(randomUUID()),
    start: 'gh_abcd',
    createdAt: 1_000,
    expiresAt: undefined,
    ...over,
  };
}

/** A line for the audit log. */
export function aNote(over: Partial<AuditNote> = {}): AuditNote {
  return { actor: 'tester', action: 'create', keyId: undefined, changes: {}, ...over };
}

/** SHA-256 in hex. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
