import type { StaticKey } from '../config/config.ts';
import type { KeyRecord, KeySecret } from '../stores/key-store.ts';

/** A key as it was found by one of its secrets. */
export interface FoundKey {
  readonly record: KeyRecord;
  readonly secret: KeySecret;
}

/** The key with that of its secrets that has the digest. */
export function foundIn(record: KeyRecord | undefined, digest: string): FoundKey | undefined {
  const secret = record?.secrets.find((one) => one.digest === digest);
  return record === undefined || secret === undefined ? undefined : { record, secret };
}

/** A key of the YAML in the form of the others. Nothing of it is ever written to the store. */
export function foundOf({ id, plan, digest, enabled, expiresAt }: StaticKey): FoundKey {
  const secret = { number: 0, digest, start: '', createdAt: 0, expiresAt: undefined };
  const nothingElse = { name: '', owner: '', quotas: [], scopes: [], labels: {}, networks: [], requests: [] };
  const always = { version: 0, notBefore: undefined, revokedAt: undefined, createdAt: 0 };
  const record = { ...nothingElse, ...always, id, plan, enabled, expiresAt, secrets: [secret] };
  return { record, secret };
}
