import { writeInstant } from '../config/instants.ts';
import type { KeyRecord, KeySecret, KnownKey } from '../stores/key-store.ts';
import { hasExpired, standingOf, type Standing } from './standing.ts';

/** An instant in ISO 8601; `null` for none. */
type WrittenInstant = string | null;

/**
 * A key as operators see it, ready to be written as JSON. It has no digests either: a weak secret could be guessed from its digest.
 */
export type KeyView = Omit<KeyRecord, InstantsOfKey | 'createdAt' | 'secrets' | 'requests'> &
  Readonly<Record<InstantsOfKey, WrittenInstant>> & {
    readonly state: Standing;
    /** Null for a key of the configuration file. */
    readonly createdAt: WrittenInstant;
    readonly lastUsedAt: WrittenInstant;
    readonly secrets: readonly SecretView[];
  };

type InstantsOfKey = 'notBefore' | 'expiresAt' | 'revokedAt';

export type SecretView = Pick<KeySecret, 'number' | 'start'> & {
  readonly createdAt: string;
  readonly expiresAt: WrittenInstant;
  readonly expired: boolean;
  readonly lastUsedAt: WrittenInstant;
};

export function viewKey({ record, usedAt }: KnownKey, now: number): KeyView {
  const { secrets, requests: _requests, notBefore, expiresAt, revokedAt, createdAt, ...shown } = record;
  const last = Math.max(...usedAt.values());
  return {
    ...shown,
    state: standingOf(record, now),
    notBefore: writeInstant(notBefore),
    expiresAt: writeInstant(expiresAt),
    revokedAt: writeInstant(revokedAt),
    createdAt: new Date(createdAt).toISOString(),
    lastUsedAt: writeInstant(usedAt.size === 0 ? undefined : last),
    secrets: secrets.map((secret) => ({
      number: secret.number,
      start: secret.start,
      createdAt: new Date(secret.createdAt).toISOString(),
      expiresAt: writeInstant(secret.expiresAt),
      expired: hasExpired(secret.expiresAt, now),
      lastUsedAt: writeInstant(usedAt.get(secret.number)),
    })),
  };
}

/** Shows a key of the configuration file, which shows neither when it was made nor anything about its secret. */
export function viewStaticKey(record: KeyRecord, now: number): KeyView {
  return { ...viewKey({ record, usedAt: new Map() }, now), createdAt: null, secrets: [] };
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
  // A mapping has no order, and each program writes it in its own.
  const labels = Object.fromEntries(Object.entries(record.labels).toSorted(byName));
  const view = viewKey({ record: { ...record, labels }, usedAt: new Map() }, 0);
  const { id: _id, version: _version, state: _state, lastUsedAt: _used, createdAt: _made, ...fields } = view;
  const secrets = view.secrets.map(({ number, start, expiresAt }) => ({ number, start, expiresAt }));
  const all = Object.entries({ ...fields, secrets });
  return Object.fromEntries(all.map(([field, value]) => [field, isEmpty(value) ? undefined : value]));
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
