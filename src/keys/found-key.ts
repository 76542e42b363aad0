import type { StaticKey } from '../config/config.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import { percentEncode } from '../wire/percent-encode.ts';

/** What a request is judged by: a key, as found by one of its secrets. There may be 50,000 in memory, so the rest is left out. */
export interface FoundKey extends Omit<
  KeyRecord,
  'name' | 'owner' | 'labels' | 'createdAt' | 'secrets' | 'requests'
> {
  readonly secretNumber: number;
  /** SHA-256 of the secret, 64 lower-case hex digits. */
  readonly digest: string;
  readonly secretExpiresAt: number | undefined;
  /** The owner as the upstream is told, encoded once and not for each request; '' for none. */
  readonly ownerHeader: string;
}

export function foundIn(record: KeyRecord | undefined, digest: string): FoundKey | undefined {
  const secret = record?.secrets.find((one) => one.digest === digest);
  if (record === undefined || secret === undefined) return undefined;
  const { id, version, plan, quotas, scopes, networks, notBefore, expiresAt, enabled, revokedAt } = record;
  return {
    id,
    version,
    plan,
    quotas,
    scopes,
    networks,
    notBefore,
    expiresAt,
    enabled,
    revokedAt,
    secretNumber: secret.number,
    digest: secret.digest,
    secretExpiresAt: secret.expiresAt,
    ownerHeader: percentEncode(record.owner),
  };
}

/** A key of the YAML in the form of the others. It is never written to the store. */
export function recordOf({ id, plan, owner, digest, enabled, expiresAt }: StaticKey): KeyRecord {
  const secret = { number: 0, digest, start: '', createdAt: 0, expiresAt: undefined };
  const nothingElse = { name: '', quotas: [], scopes: [], labels: {}, networks: [], requests: [] };
  const always = { version: 0, notBefore: undefined, revokedAt: undefined, createdAt: 0 };
  return { ...nothingElse, ...always, id, plan, owner, enabled, expiresAt, secrets: [secret] };
}

export function foundOf(key: StaticKey): FoundKey {
  return foundIn(recordOf(key), key.digest) as FoundKey;
}
