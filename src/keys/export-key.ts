import type { KeyRecord } from '../stores/key-store.ts';
import { hasExpired } from './standing.ts';

/** A key as a line of an import, its secret as a digest. */
export type ExportedKey = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * The line that makes a key again in another store. Undefined for one that was revoked or whose last secret has expired. A line has one secret,
 * so those before the newest stay behind.
 */
export function exportKey(record: KeyRecord, now: number): ExportedKey | undefined {
  const newest = liveSecrets(record, now).at(-1);
  if (record.revokedAt !== undefined || newest === undefined) return undefined;
  const { id, name, owner, plan, quotas, scopes, labels, networks, notBefore, expiresAt, enabled } = record;
  return {
    id,
    hash: `sha256:${newest.digest}`,
    plan,
    name: name === '' ? undefined : name,
    owner: owner === '' ? undefined : owner,
    quotas: quotas.length === 0 ? undefined : quotas,
    scopes: scopes.length === 0 ? undefined : scopes,
    labels: Object.keys(labels).length === 0 ? undefined : labels,
    networks: networks.length === 0 ? undefined : networks,
    notBefore: instant(notBefore),
    expiresAt: instant(expiresAt),
    enabled: enabled ? undefined : false,
  };
}

/** Whether a secret of the key works beside the newest. */
export function hasOlderSecrets(record: KeyRecord, now: number): boolean {
  return liveSecrets(record, now).length > 1;
}

function liveSecrets({ secrets }: KeyRecord, now: number): KeyRecord['secrets'] {
  return secrets.filter(({ expiresAt }) => !hasExpired(expiresAt, now));
}

function instant(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
