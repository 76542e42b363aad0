import type { KeyStore, KeyUse } from '../stores/key-store.ts';
import type { FoundKey } from './found-key.ts';

/** Gathers when secrets were used and writes it out of band, so that no request waits for it. */
export interface UseNotes {
  note(found: FoundKey, now: number): void;
  /** Writes what is gathered. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Each secret is written once in this time at most. */
const flushEveryMs = 60_000;
const usesPerWrite = 500;
/** More secrets than this within a minute are not noted: they will be in a later one. */
const secretsMax = 100_000;

/** Starts gathering. What cannot be written is dropped: it is no reason to burden a store that struggles. */
export function createUseNotes(store: Pick<KeyStore, 'noteUses'>, everyMs = flushEveryMs): UseNotes {
  let gathered = new Map<string, KeyUse>();
  let flushing: Promise<void> = Promise.resolve();

  async function write(uses: readonly KeyUse[]): Promise<void> {
    for (let at = 0; at < uses.length; at += usesPerWrite) {
      await store.noteUses(uses.slice(at, at + usesPerWrite));
    }
  }

  function flush(): Promise<void> {
    const uses = [...gathered.values()];
    gathered = new Map();
    if (uses.length > 0) flushing = flushing.then(() => write(uses)).catch(() => undefined);
    return flushing;
  }

  const timer = setInterval(() => void flush(), everyMs).unref();
  return {
    note({ record, secret }, now) {
      // Keys of the YAML are not in the store, and nothing about them is.
      if (record.version === 0) return;
      const known = gathered.get(secret.digest);
      if (known === undefined && gathered.size >= secretsMax) return;
      gathered.set(secret.digest, { keyId: record.id, secret: secret.number, at: now });
    },
    flush,
    close() {
      clearInterval(timer);
      return flush();
    },
  };
}
