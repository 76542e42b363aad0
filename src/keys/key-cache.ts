import { BoundedMap } from '../collections/bounded-map.ts';
import type { FoundKey } from './found-key.ts';
import { KeptKeys, type KeptKey } from './kept-keys.ts';

/** What the store said about a digest. */
interface CachedKey {
  readonly found: FoundKey | undefined;
  readonly readAt: number;
  /** False once something may have changed: then it serves only while the store is away. */
  readonly isFresh: boolean;
}

/** When the store was asked, and where `changes` stood then. */
export interface Reading {
  readonly readAt: number;
  readonly asOf: number;
}

/** What the store said lately, by digest, in bounded memory. */
interface KeyCache {
  get(digest: string): CachedKey | undefined;
  /** Keeps an answer, unless its key has changed since it was asked for. What has been doubted since then is kept in doubt. */
  keep(digest: string, found: FoundKey | undefined, reading: Reading): void;
  /** Forgets one key, and everything that was unknown. */
  forgetKey(keyId: string): void;
  forgetUnknown(): void;
  /** Makes everything be asked for again. */
  doubtAll(): void;
  /** Counts what was forgotten or doubted. */
  readonly changes: number;
}

/** They are kept apart from known keys, so that guessing cannot push real keys out. */
export const unknownKeysMax = 10_000;
/** Once this many keys have changed all known ones are looked through, which takes some 15 ms. */
export const changedKeysMax = 1000;

/** Creates an empty cache. */
export function createKeyCache(): KeyCache {
  const known = new KeptKeys();
  const unknown = new BoundedMap<string, number>(unknownKeysMax);
  /**
   * Where `changes` stood when each key last changed, by id: what was read before is outdated, whichever secret it was read for.
   * Known keys are not also listed by id, which would take as much memory again.
   */
  const changed = new Map<string, number>();
  let changes = 0;
  let doubtedAt = 0;
  /** Up to this point it is no longer known which keys have changed. */
  let sweptAt = 0;

  function isOutdated({ found, asOf }: KeptKey): boolean {
    return asOf < changes && asOf < (changed.get(found.id) ?? 0);
  }

  function sweep(): void {
    known.deleteKeys(changed);
    changed.clear();
    sweptAt = changes;
  }

  return {
    get changes() {
      return changes;
    },
    get(digest) {
      const entry = known.get(digest);
      if (entry !== undefined && !isOutdated(entry)) {
        return { found: entry.found, readAt: entry.readAt, isFresh: entry.asOf >= doubtedAt };
      }
      const readAt = unknown.get(digest);
      return readAt === undefined ? undefined : { found: undefined, readAt, isFresh: true };
    },
    keep(digest, found, { readAt, asOf }) {
      if (found === undefined) {
        if (asOf < (known.get(digest)?.asOf ?? 0)) return; // it was found since
        known.delete(digest);
        // It may have been added since it was asked for; what was unknown before that is forgotten already.
        if (asOf === changes) unknown.set(digest, readAt);
        return;
      }
      const entry = { found, readAt, asOf };
      if (asOf < sweptAt || isOutdated(entry)) return;
      unknown.delete(digest);
      known.set(entry);
    },
    forgetKey(keyId) {
      changes += 1;
      changed.set(keyId, changes);
      unknown.clear();
      if (changed.size >= changedKeysMax) sweep();
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
