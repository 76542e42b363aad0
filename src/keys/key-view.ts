import type { KeyRecord, KnownKey, OwnQuota } from '../stores/key-store.ts';
import { hasExpired, standingOfKey, type Standing } from './standing.ts';

/**
 * A key as operators see it, ready to be written as JSON: instants in ISO 8601, `null` for what is not set. It has no
 * digests either: that of a weak secret can be tried out until it fits.
 */
export interface KeyView {
  readonly id: string;
  readonly version: number;
  readonly state: Exclude<Standing, 'secret_expired'>;
  readonly name: string;
  readonly owner: string;
  readonly plan: string;
  readonly quotas: readonly OwnQuota[];
  readonly scopes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly enabled: boolean;
  readonly notBefore: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly secrets: readonly SecretView[];
}

export interface SecretView {
  readonly number: number;
  /** The first characters of the secret; '' when nothing may be shown of it. */
  readonly start: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly expired: boolean;
  readonly lastUsedAt: string | null;
}

/** Shows a key as it is at a moment. */
export function viewKey({ record, usedAt }: KnownKey, now: number): KeyView {
  const { secrets, notBefore, expiresAt, revokedAt, createdAt, ...shown } = record;
  const last = Math.max(...usedAt.values());
  return {
    ...shown,
    state: standingOfKey(record, now),
    notBefore: instant(notBefore),
    expiresAt: instant(expiresAt),
    revokedAt: instant(revokedAt),
    createdAt: new Date(createdAt).toISOString(),
    lastUsedAt: instant(usedAt.size === 0 ? undefined : last),
    secrets: secrets.map((secret) => ({
      number: secret.number,
      start: secret.start,
      createdAt: new Date(secret.createdAt).toISOString(),
      expiresAt: instant(secret.expiresAt),
      expired: hasExpired(secret, now),
      lastUsedAt: instant(usedAt.get(secret.number)),
    })),
  };
}

/** What differs between two states of a key, as the audit log keeps it. */
export function differences(
  before: KeyRecord | undefined,
  after: KeyRecord,
): Readonly<Record<string, readonly [before: unknown, after: unknown]>> {
  const [old, current] = [before === undefined ? undefined : audited(before), audited(after)];
  const changed = Object.entries(current).filter(
    ([field, value]) => JSON.stringify(old?.[field]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed.map(([field, value]) => [field, [old?.[field], value]]));
}

function audited(record: KeyRecord): Readonly<Record<string, unknown>> {
  const view = viewKey({ record, usedAt: new Map() }, 0);
  const { id: _id, version: _version, state: _state, lastUsedAt: _used, createdAt: _made, ...fields } = view;
  const secrets = view.secrets.map(({ number, start, expiresAt }) => ({ number, start, expiresAt }));
  const all = Object.entries({ ...fields, secrets });
  return Object.fromEntries(all.map(([field, value]) => [field, isEmpty(value) ? undefined : value]));
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function instant(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
