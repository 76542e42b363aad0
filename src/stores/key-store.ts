/**
 * Keys as both stores keep them, by rules that one test suite checks in both:
 * - Secrets rest as SHA-256 only. A digest belongs to one key at most, also when that key no longer has it.
 * - Every change of a key, its entry in the audit log and its mention in the change feed are one atomic step.
 * - A change names the version it was made from; if the key has moved on, nothing happens.
 * - Looking up an unknown digest writes nothing.
 */
export interface KeyStore {
  /** Finds a key by the SHA-256 of one of its secrets. Rejects only when the store fails or the record is unreadable. */
  findKey(digest: string): Promise<KeyRecord | undefined>;
  readKey(id: string): Promise<KnownKey | undefined>;
  /** Up to `limit` keys whose ids come after the given one, in the order of ids. */
  listKeys(after: string, limit: number): Promise<readonly Listed<KnownKey>[]>;
  changeKey(change: KeyChange): Promise<ChangeAnswer>;
  /** Adds many new keys with one entry in the audit log. Existing ones stay as they are. */
  addKeys(records: readonly KeyRecord[], note: AuditNote): Promise<readonly AddAnswer[]>;
  /** Notes when secrets were used last. This is not a change: neither version nor feed moves. */
  noteUses(uses: readonly KeyUse[]): Promise<void>;
  /** Adds an entry about a key to the audit log, for what is no change of its record. */
  addAudit(note: AuditNote): Promise<void>;
  /** Up to `limit` entries older than the one with that id, newest first. */
  listAudit(before: string | undefined, limit: number): Promise<readonly Listed<AuditEntry>[]>;
  /**
   * Reports every change by any process within a second, and when some may have been missed. Returns a function that stops it.
   * Each reading of the feed is one `attempt`.
   */
  watch(onEvent: (event: KeyEvent) => void, attempt?: Attempt): () => void;
}

/** Reads once, and sees whether that fails. */
export type Attempt = (read: () => Promise<void>) => Promise<void>;

/** What is kept of a key. It holds no secret, only digests of secrets. Instants are milliseconds since the epoch. */
export interface KeyRecord {
  readonly id: string;
  /** One more with every change; 1 for a new key. */
  readonly version: number;
  /** '' for none. */
  readonly name: string;
  /** '' for none. */
  readonly owner: string;
  readonly plan: string;
  /** They take the place of the plan's quotas of the same names, and join the others. */
  readonly quotas: readonly OwnQuota[];
  /** Names of routes, or patterns of paths. None = every route. */
  readonly scopes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** CIDRs or single addresses. None = from anywhere. */
  readonly networks: readonly string[];
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
  readonly enabled: boolean;
  /** Set for ever: a revoked key never works again, and neither it nor its secrets can be made again. */
  readonly revokedAt: number | undefined;
  readonly createdAt: number;
  /** Oldest first. */
  readonly secrets: readonly KeySecret[];
  /** The requests that made or rotated it under a name that their caller chose, by which a repeat is recognised. */
  readonly requests: readonly RequestMark[];
}

/** A request by digests of its name and of what it asked for. */
export interface RequestMark {
  readonly name: string;
  readonly content: string;
}

export interface KeySecret {
  /** Counts the secrets of its key from 1. */
  readonly number: number;
  /** SHA-256 of the secret, 64 lower-case hex digits. */
  readonly digest: string;
  /** Its first characters, for people; '' when nothing may be shown. */
  readonly start: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
}

/** A quota of one key. Without a period it only gives the plan's quota of that name another limit. */
export interface OwnQuota {
  readonly name: string;
  readonly limit: number;
  readonly per: string | undefined;
  readonly timezone: string | undefined;
}

export interface KeyUse {
  readonly keyId: string;
  readonly secretNumber: number;
  readonly at: number;
}

export interface KnownKey {
  readonly record: KeyRecord;
  /** When its latest secrets were last used, by their numbers: those it no longer has included, those never used left out. */
  readonly usedAt: ReadonlyMap<number, number>;
}

/** One entry of a list. A record that is gone or cannot be read must not end the list or hide the others. */
export interface Listed<T> {
  readonly id: string;
  readonly found: T | undefined;
}

export interface KeyChange {
  /** The version that the change was made from; undefined for a new key. */
  readonly from: KeyRecord | undefined;
  readonly to: KeyRecord;
  readonly note: AuditNote;
}

/** `taken`: one of the secrets belongs to another key, or did. */
export const changeAnswers = ['done', 'exists', 'missing', 'outdated', 'taken'] as const;
export type ChangeAnswer = (typeof changeAnswers)[number];

export type AddAnswer =
  | { readonly kind: 'added' }
  /** The secret is, or was, one of the key with this id. */
  | { readonly kind: 'known'; readonly id: string }
  /** The same, but the record of that key is gone: it may have been revoked, so its secret must not make another. */
  | { readonly kind: 'lost'; readonly id: string }
  /** The id belongs to another key. */
  | { readonly kind: 'id_taken' };

/** What the audit log is told: who did what, never a secret. */
export interface AuditNote {
  readonly actor: string;
  readonly action: string;
  /** undefined when it is about many keys. */
  readonly keyId: string | undefined;
  /** What changed, from what to what. */
  readonly changes: Readonly<Record<string, readonly [before: unknown, after: unknown]>>;
}

export interface AuditEntry extends AuditNote {
  /** Orders the log; the cursor of its pages. */
  readonly id: string;
  readonly at: number;
  /** How many keys it is about. */
  readonly keys: number;
}

export type KeyEvent =
  /** There are new keys, or may be while the store is away. Nobody can hold them in memory yet except as unknown. */
  | { readonly kind: 'added' }
  | { readonly kind: 'changed'; readonly keyId: string }
  /** Some changes were not seen: any key may have changed. */
  | { readonly kind: 'missed' };

/** The audit log keeps this many entries and this long, whichever is less. */
export const auditEntriesMax = 100_000;
export const auditKeptMs = 400 * 86_400_000;
/** The change feed keeps this many; a reader that slept through more is told that it missed some. */
export const feedEntriesMax = 10_000;
