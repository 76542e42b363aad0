import { hash } from 'node:crypto';
import { PassingMap } from '../collections/passing-map.ts';
import type { StaticKey } from '../config/config.ts';
import type { KeyEvent, KeyStore } from '../stores/key-store.ts';
import { foundIn, foundOf, type FoundKey } from './found-key.ts';
import { KeyCache } from './key-cache.ts';
import type { KeyFormat } from './key-format.ts';

/**
 * Finds the key behind a secret: first among the keys of the YAML, then in the store, through a bounded cache. undefined = nobody's.
 * Rejects only when the store cannot answer and the key was not seen lately.
 */
export type FindKey = (secret: string) => FoundKey | 'mistyped' | undefined | Promise<FoundKey | undefined>;

export interface KeyringRules {
  readonly staticKeys: readonly StaticKey[];
  readonly format: Pick<KeyFormat, 'judge' | 'pattern'>;
  /** The store is asked again after this, in case the change feed has failed. */
  readonly cacheForMs: number;
  /** A store that is down does not lock out a key it vouched for this recently. */
  readonly graceOnOutageMs: number;
}

interface KeyringOptions {
  readonly store: Pick<KeyStore, 'findKey' | 'watch'>;
  /** Monotonic milliseconds: nothing is believed for longer because the wall clock was set back. */
  readonly mono: () => number;
  /** Whether this process stood still since this was last asked: what has changed meanwhile may not have been heard yet. */
  readonly stoodStill: () => boolean;
}

/** Follows the changes of the store, and keeps what it said lately, whatever configuration asks for it. */
export function createKeyring({ store, mono, stoodStill }: KeyringOptions) {
  const cache = new KeyCache();
  /** Answers under way that may be shared, by digest. */
  const asked = new PassingMap<Promise<FoundKey | undefined>>();

  const stop = store.watch(hear);

  function hear(event: KeyEvent): void {
    if (event.kind === 'changed') cache.forgetKey(event.keyId);
    else if (event.kind === 'added') cache.forgetUnknown();
    else cache.doubtAll();
    // An answer that is under way may be from before the change: later requests ask again.
    asked.clear();
  }

  async function ask(digest: string, graceOnOutageMs: number): Promise<FoundKey | undefined> {
    const asOf = cache.changes;
    try {
      const found = foundIn(await store.findKey(digest), digest);
      cache.keep(digest, found, { readAt: mono(), asOf });
      return found;
    } catch (error) {
      const last = cache.get(digest);
      if (last?.found !== undefined && mono() - last.readAt < graceOnOutageMs) return last.found;
      throw error;
    } finally {
      // After a change the entry may be another request's.
      if (asOf === cache.changes) asked.delete(digest);
    }
  }

  /** Requests that come while the same key is being looked up share the answer. */
  function askOnce(digest: string, graceOnOutageMs: number): Promise<FoundKey | undefined> {
    const pending = asked.get(digest);
    if (pending !== undefined) return pending;
    const answer = ask(digest, graceOnOutageMs);
    asked.add(digest, answer);
    return answer;
  }

  /** What the keys look like that the last rules take for ours. */
  let pattern = '';

  return {
    under({ staticKeys, format, cacheForMs, graceOnOutageMs }: KeyringRules): FindKey {
      // A key that is kept may be a mistyped one now.
      if (format.pattern !== pattern) hear({ kind: 'missed' });
      pattern = format.pattern;
      const ofTheFile = new Map(staticKeys.map((key) => [key.digest, foundOf(key)]));
      return function findKey(secret) {
        // Only the digest is ever looked up or kept, so neither memory nor timing tells anything about the secret itself.
        const digest = hash('sha256', secret, 'hex');
        const found = ofTheFile.get(digest);
        if (found !== undefined) return found;
        if (stoodStill()) hear({ kind: 'missed' });
        const cached = cache.get(digest);
        if (cached?.isFresh === true && mono() - cached.readAt < cacheForMs) return cached.found;
        // Behind what is kept here, as its checksum takes 0.5 µs: 1 % of the CPU of a name call with a key of our form.
        if (format.judge(secret) === 'mistyped') return 'mistyped';
        return askOnce(digest, graceOnOutageMs);
      };
    },
    close: stop,
  };
}
