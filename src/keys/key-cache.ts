import { BoundedMap } from '../collections/bounded-map.ts';
import type { FoundKey } from './found-key.ts';
import { KeptKeys, type KeptKey } from './kept-keys.ts';

interface CachedKey {
  readonly found: FoundKey | undefined;
  readonly readAt: number;
  /** False once something may have changed: then it serves only while the store is away. */
  readonly isFresh: boolean;
}

/** They are kept apart from known keys, so that guessing cannot push real keys out. */
export const unknownKeysMax = 10_000;
/** Once this many keys have changed all known ones are looked through, which takes some 15 ms. */
export const changedKeysMax = 1000;

/** What the store said lately, by digest, in bounded memory. */
export class KeyCache {
  readonly #known = new KeptKeys();
  readonly #unknown = new BoundedMap<string, number>(unknownKeysMax);
  /**
   * Where `changes` stood when each key last changed, by id: what was read before is outdated, whichever secret it was read for.
   * Known keys are not also listed by id, which would take as much memory again.
   */
  readonly #changed = new Map<string, number>();
  #changes = 0;
  #doubtedAt = 0;
  /** Up to this point it is no longer known which keys have changed. */
  #sweptAt = 0;

  /** Counts what was forgotten or doubted. */
  get changes(): number {
    return this.#changes;
  }

  get(digest: string): CachedKey | undefined {
    const entry = this.#known.get(digest);
    if (entry !== undefined && !this.#isOutdated(entry)) {
      return { found: entry.found, readAt: entry.readAt, isFresh: entry.asOf >= this.#doubtedAt };
    }
    const readAt = this.#unknown.get(digest);
    return readAt === undefined ? undefined : { found: undefined, readAt, isFresh: true };
  }

  /** Keeps an answer, unless its key has changed since it was asked for. If all was doubted since then, so is this. */
  keep(digest: string, found: FoundKey | undefined, { readAt, asOf }: Omit<KeptKey, 'found'>): void {
    if (found === undefined) {
      if (asOf < (this.#known.get(digest)?.asOf ?? 0)) return; // it was found since
      this.#known.delete(digest);
      // Not if anything has changed since it was asked for: the key may have been added meanwhile.
      if (asOf === this.#changes) this.#unknown.set(digest, readAt);
      return;
    }
    const entry = { found, readAt, asOf };
    if (asOf < this.#sweptAt || this.#isOutdated(entry)) return;
    this.#known.set(entry);
  }

  forgetKey(keyId: string): void {
    this.forgetUnknown();
    this.#changed.set(keyId, this.#changes);
    if (this.#changed.size >= changedKeysMax) this.#sweep();
  }

  forgetUnknown(): void {
    this.#changes += 1;
    this.#unknown.clear();
  }

  /** Has everything asked for again: what is known serves only while the store is away. */
  doubtAll(): void {
    this.forgetUnknown();
    this.#doubtedAt = this.#changes;
  }

  #isOutdated({ found, asOf }: KeptKey): boolean {
    return asOf < this.#changes && asOf < (this.#changed.get(found.id) ?? 0);
  }

  #sweep(): void {
    this.#known.deleteKeys(this.#changed);
    this.#changed.clear();
    this.#sweptAt = this.#changes;
  }
}
