import { hash } from 'node:crypto';
import type { StaticKey } from '../config/config.ts';
import type { KeyRecord, KeyStore } from '../stores/store.ts';

/** Finds the key behind a secret: first among the keys of the YAML, then in the store, through a bounded cache. */
export interface Keyring {
  /** Rejects only when the store cannot answer and the key was not seen lately. */
  find(secret: string): KeyRecord | undefined | Promise<KeyRecord | undefined>;
}

export interface KeyringOptions {
  readonly staticKeys: readonly StaticKey[];
  readonly store: KeyStore;
  readonly cacheForMs: number;
  readonly now: () => number;
}

/** Known and unknown secrets are cached apart, so that guessing cannot push real keys out. */
const knownMax = 50_000;
const unknownMax = 10_000;
/** A store that is down does not lock out a key it vouched for this recently. */
const graceMs = 15 * 60_000;

interface Cached {
  readonly record: KeyRecord | undefined;
  readonly readAt: number;
}

export function createKeyring({ staticKeys, store, cacheForMs, now }: KeyringOptions): Keyring {
  const fixed = new Map<string, KeyRecord>(staticKeys.map((key) => [key.digest, key]));
  const known = new Map<string, Cached>();
  const unknown = new Map<string, Cached>();

  async function ask(digest: string): Promise<KeyRecord | undefined> {
    try {
      const record = await store.findKey(digest);
      const cached = { record, readAt: now() };
      if (record === undefined) {
        known.delete(digest);
        keep(unknown, digest, cached, unknownMax);
      } else {
        unknown.delete(digest);
        keep(known, digest, cached, knownMax);
      }
      return record;
    } catch (error) {
      const last = known.get(digest);
      if (last !== undefined && now() - last.readAt < graceMs) return last.record;
      throw error;
    }
  }

  return {
    find(secret) {
      // Only the digest is ever looked up or kept, so neither memory nor timing tells anything of the secret itself.
      const digest = hash('sha256', secret, 'hex');
      const record = fixed.get(digest);
      if (record !== undefined) return record;
      const cached = known.get(digest) ?? unknown.get(digest);
      if (cached !== undefined && now() - cached.readAt < cacheForMs) return cached.record;
      return ask(digest);
    },
  };
}

function keep(cache: Map<string, Cached>, digest: string, cached: Cached, max: number): void {
  cache.delete(digest);
  if (cache.size >= max) {
    const oldest = cache.keys().next();
    if (oldest.done !== true) cache.delete(oldest.value);
  }
  cache.set(digest, cached);
}
