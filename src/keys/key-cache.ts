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
  const known = new Map<string, Known>();
  const unknown = new Map<string, number>();
  const digestsOf = new Map<string, readonly string[]>();
  let changes = 0;
  let doubtedAt = 0;

  function drop(digest: string): void {
    const entry = known.get(digest);
    if (entry === undefined) return;
    known.delete(digest);
    const { id } = entry.found.record;
    const others = digestsOf.get(id)?.filter((one) => one !== digest) ?? [];
    if (others.length > 0) digestsOf.set(id, others);
    else digestsOf.delete(id);
  }

  function keepKnown(digest: string, found: FoundKey, at: { readAt: number; asOf: number }): void {
    drop(digest);
    unknown.delete(digest);
    if (known.size >= knownKeysMax) drop(oldestOf(known));
    // The record has the digest too. One string for both is a tenth less memory for each key.
    const { digest: kept } = found.secret;
    known.set(kept, { found, ...at });
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
      unknown.delete(digest);
      // Since it was asked for it may have been added.
      if (at.asOf !== changes) return;
      if (unknown.size >= unknownKeysMax) unknown.delete(oldestOf(unknown));
      unknown.set(digest, at.readAt);
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

function oldestOf(map: ReadonlyMap<string, unknown>): string {
  return map.keys().next().value ?? '';
}
