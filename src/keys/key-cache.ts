import { BoundedMap } from '../bounded-map.ts';
import type { FoundKey } from './found-key.ts';

/** What the store said of a digest. */
export interface CachedKey {
  readonly found: FoundKey | undefined;
  readonly readAt: number;
  /** False once something may have changed: then it only serves while the store is away. */
  readonly isFresh: boolean;
}

/** What the store said lately, by digest, in bounded memory. */
export interface KeyCache {
  get(digest: string): CachedKey | undefined;
  /** Keeps an answer that was asked for when `changes` stood at `asOf`. What has been doubted since is kept in doubt. */
  keep(
    digest: string,
    found: FoundKey | undefined,
    at: { readonly readAt: number; readonly asOf: number },
  ): void;
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

interface Known {
  readonly found: FoundKey;
  readonly readAt: number;
  readonly asOf: number;
}

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

  function unlist({ found: { record, secret } }: Known): void {
    const others = digestsOf.get(record.id)?.filter((one) => one !== secret.digest) ?? [];
    if (others.length > 0) digestsOf.set(record.id, others);
    else digestsOf.delete(record.id);
  }

  function keepKnown(digest: string, found: FoundKey, at: { readAt: number; asOf: number }): void {
    drop(digest);
    unknown.delete(digest);
    // The record has the digest too. One string for both is a tenth less memory for each key.
    const { digest: kept } = found.secret;
    const forgotten = known.set(kept, { found, ...at });
    if (forgotten !== undefined) unlist(forgotten);
    const { id } = found.record;
    digestsOf.set(id, [...(digestsOf.get(id) ?? []), kept]);
  }

  return {
    get changes() {
      return changes;
    },
    get(digest) {
      const entry = known.get(digest);
      if (entry !== undefined) {
        return { found: entry.found, readAt: entry.readAt, isFresh: entry.asOf >= doubtedAt };
      }
      const readAt = unknown.get(digest);
      return readAt === undefined ? undefined : { found: undefined, readAt, isFresh: true };
    },
    keep(digest, found, at) {
      if (found !== undefined) return keepKnown(digest, found, at);
      drop(digest);
      // Since it was asked for it may have been added.
      if (at.asOf === changes) unknown.set(digest, at.readAt);
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
