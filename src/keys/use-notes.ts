import { slicesOf } from '../collections/slices.ts';
import type { KeyStore, KeyUse } from '../stores/key-store.ts';
import { within } from '../waiting/patience.ts';
import type { FoundKey } from './found-key.ts';

/** Gathers when secrets were used and writes it out of band, so that no request waits for it. */
interface UseNotes {
  note(found: FoundKey, now: number): void;
  /** Writes what is gathered. */
  flush(): Promise<void>;
  /** Writes what is gathered, if the store takes it soon. */
  close(): Promise<void>;
}

/** Each secret is written at most once in this time, unless more are used in it than are gathered. */
const flushEveryMs = 60_000;
/** Once there are this many they are written at once: a million keys in use must not take memory until the minute is over. */
export const gatheredMax = 10_000;
const usesPerWrite = 500;
/** A stopping gateway has little time, and needs it for what is owed. */
const closingMs = 1000;

/** Starts gathering. What cannot be written is dropped: a struggling store must not be burdened with it. */
export function createUseNotes(store: Pick<KeyStore, 'noteUses'>, everyMs = flushEveryMs): UseNotes {
  /** When each secret was used last, by a name: an object for each would take twice as much, and there may be thousands at any time. */
  let gathered = new Map<string, number>();
  let writing: Promise<void> = Promise.resolve();
  let writes = 0;

  async function write(uses: Gathered): Promise<void> {
    for (const some of slicesOf(uses, usesPerWrite)) await store.noteUses(some.map(useOf));
  }

  function flush(): Promise<void> {
    if (gathered.size > 0) {
      const uses = gathered;
      gathered = new Map();
      writes += 1;
      writing = writing
        .then(() => write(uses))
        .catch(() => undefined)
        .finally(() => (writes -= 1));
    }
    return writing;
  }

  const timer = setInterval(() => void flush(), everyMs).unref();
  return {
    note({ id, version, secretNumber }, now) {
      // Keys of the YAML are not in the store, and nothing about them is.
      if (version === 0) return;
      if (gathered.size >= gatheredMax && writes === 0) void flush();
      const name = `${secretNumber}:${id}`;
      if (gathered.size >= gatheredMax && !gathered.has(name)) return;
      gathered.set(name, now);
    },
    flush,
    close() {
      clearInterval(timer);
      return within(closingMs, flush());
    },
  };
}

type Gathered = ReadonlyMap<string, number>;

function useOf([name, at]: [name: string, at: number]): KeyUse {
  const end = name.indexOf(':');
  return { keyId: name.slice(end + 1), secretNumber: Number(name.slice(0, end)), at };
}
