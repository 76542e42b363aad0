import { BoundedMap } from '../bounded-map.ts';
import type { FoundKey } from './found-key.ts';

/** What the store said of a digest. */
export interface CachedKey {
  readonly found: FoundKey | undefined;
  readonly readAt: number;
  /** False once something may have changed: then it only serves while the store is away. */
  readonly isFresh: boolean;
}

/** When the store was asked, and where `changes` stood then. */
export interface Reading {
  readonly readAt: number;
  readonly asOf: number;
}

/** What the store said lately, by digest, in bounded memory. */
export interface KeyCache {
  get(digest: string): CachedKey | undefined;
  /** Keeps an answer. What has been doubted since it was asked for is kept in doubt. */
  keep(digest: string, found: FoundKey | undefined, reading: Reading): void;
  /** Forgets one key, and everything that was unknown. */
  forgetKey(keyId: string): void;
  forgetUnknown(): void;
  /** Asks anew about everything. */
  doubtAll(): void;
  /** Counts what was forgotten or doubted. */
  readonly changes: number;
}

/** Known and unknown secrets are kept apart, so that guessing cannot push real keys out. */
export const knownKeysMax = 50_000;
export const unknownKeysMax = 10_000;

interface Known extends FoundKey, Reading {}

/** Creates an empty cache. */
export function createKeyCache(): KeyCache {
  const known = new BoundedMap<string, Known>(knownKeysMax);
  const unknown = new BoundedMap<string, number>(unknownKeysMax);
  const digestsOf = new Map<string, readonly string[]>();
  let changes = 0;
  let doubtedAt = 0;

  function drop(digest: string): void {
    const entry = known.get(digest);
    if (entry === undefined) return;
    known.delete(digest);
    unlist(entry);
  }

  function unlist({ record: { id }, secret }: Known): void {
    const others = digestsOf.get(id)?.filter((one) => one !== secret.digest) ?? [];
    if (others.length > 0) digestsOf.set(id, others);
    else digestsOf.delete(id);
  }

  function keepKnown(digest: string, { record, secret }: FoundKey, { readAt, asOf }: Reading): void {
    drop(digest);
    unknown.delete(digest);
    // The record has the digest too, and one string serves both. What each key takes counts 50,000 times.
    const kept = secret.digest;
    const forgotten = known.set(kept, { record, secret, readAt, asOf });
    if (forgotten !== undefined) unlist(forgotten);
    digestsOf.set(record.id, (digestsOf.get(record.id) ?? []).concat(kept));
  }

  return {
    get changes() {
      return changes;
    },
    get(digest) {
      const entry = known.get(digest);
      if (entry !== undefined) {
        return { found: entry, readAt: entry.readAt, isFresh: entry.asOf >= doubtedAt };
      }
      const readAt = unknown.get(digest);
      return readAt === undefined ? undefined : { found: undefined, readAt, isFresh: true };
    },
    keep(digest, found, reading) {
      if (found !== undefined) return keepKnown(digest, found, reading);
      drop(digest);
      // Since it was asked for it may have been added.
      if (reading.asOf === changes) unknown.set(digest, reading.readAt);
      else unknown.delete(digest);
    },
    forgetKey(keyId) {
      changes += 1;
      for (const digest of digestsOf.get(keyId) ?? []) drop(digest);
      unknown.clear();
    },
    forgetUnknown() {
      changes += 1;
      unknown.clear();
    },
    doubtAll() {
      changes += 1;
      doubtedAt = changes;
      unknown.clear();
    },
  };
}
