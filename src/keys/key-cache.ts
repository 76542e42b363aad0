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

interface Known extends Reading {
  readonly found: FoundKey;
  /** Another secret of the same key: it may have several. */
  next: Known | undefined;
}

/** Creates an empty cache. */
export function createKeyCache(): KeyCache {
  const known = new BoundedMap<string, Known>(knownKeysMax);
  const unknown = new BoundedMap<string, number>(unknownKeysMax);
  /** By the ids of keys, the first of their secrets that are known. */
  const firstOf = new Map<string, Known>();
  let changes = 0;
  let doubtedAt = 0;

  function drop(digest: string): void {
    const entry = known.get(digest);
    if (entry === undefined) return;
    known.delete(digest);
    unlist(entry);
  }

  function unlist(entry: Known): void {
    const { id } = entry.found;
    const first = firstOf.get(id);
    if (first === entry && entry.next !== undefined) firstOf.set(id, entry.next);
    else if (first === entry) firstOf.delete(id);
    for (let one = first; one !== undefined; one = one.next) {
      if (one.next === entry) one.next = entry.next;
    }
  }

  function keepKnown(digest: string, found: FoundKey, { readAt, asOf }: Reading): void {
    drop(digest);
    unknown.delete(digest);
    const entry: Known = { found, readAt, asOf, next: firstOf.get(found.id) };
    // The key has the digest too, and one string serves both. What each key takes counts 50,000 times.
    const forgotten = known.set(found.digest, entry);
    firstOf.set(found.id, entry);
    if (forgotten !== undefined) unlist(forgotten);
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
    keep(digest, found, reading) {
      if (found !== undefined) return keepKnown(digest, found, reading);
      drop(digest);
      // Since it was asked for it may have been added.
      if (reading.asOf === changes) unknown.set(digest, reading.readAt);
      else unknown.delete(digest);
    },
    forgetKey(keyId) {
      changes += 1;
      for (let entry = firstOf.get(keyId); entry !== undefined; entry = entry.next)
        known.delete(entry.found.digest);
      firstOf.delete(keyId);
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
