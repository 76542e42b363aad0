import { slicesOf } from '../collections/slices.ts';
import type { KeyStore, KeyUse } from '../stores/key-store.ts';
import { within } from '../waiting/patience.ts';
import type { FoundKey } from './found-key.ts';

/** Each secret is written at most once in this time, unless more are used in it than are gathered. */
const flushEveryMs = 60_000;
/** Once there are this many they are written at once: a million keys in use must not take memory until the minute is over. */
export const gatheredMax = 10_000;
const usesPerWrite = 500;
/** A stopping gateway has little time, and needs it for what is owed. */
const closingMs = 1000;

/**
 * Gathers when secrets were used and writes it out of band, so that no request waits for it. What cannot be written is dropped: a
 * struggling store must not be burdened with it.
 */
export class UseNotes {
  readonly #store: Pick<KeyStore, 'noteUses'>;
  readonly #timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  /** When each secret was used last, by a name: an object for each would take twice as much, and there may be thousands at any time. */
  #gathered = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();
  #writes = 0;

  constructor(store: Pick<KeyStore, 'noteUses'>) {
    this.#store = store;
  }

  note({ id, version, secretNumber }: FoundKey, now: number): void {
    // Keys of the YAML are not in the store, and nothing about them is.
    if (version === 0) return;
    if (this.#gathered.size >= gatheredMax && this.#writes === 0) void this.flush();
    const name = `${secretNumber}:${id}`;
    if (this.#gathered.size >= gatheredMax && !this.#gathered.has(name)) return;
    this.#gathered.set(name, now);
  }

  flush(): Promise<void> {
    if (this.#gathered.size > 0) {
      const uses = this.#gathered;
      this.#gathered = new Map();
      this.#writes += 1;
      this.#writing = this.#writing
        .then(() => this.#write(uses))
        .catch(() => undefined)
        .finally(() => (this.#writes -= 1));
    }
    return this.#writing;
  }

  /** Writes what is gathered, if the store takes it soon. */
  close(): Promise<void> {
    clearInterval(this.#timer);
    return within(closingMs, this.flush());
  }

  async #write(uses: ReadonlyMap<string, number>): Promise<void> {
    for (const some of slicesOf(uses, usesPerWrite)) await this.#store.noteUses(some.map(useOf));
  }
}

function useOf([name, at]: readonly [name: string, at: number]): KeyUse {
  const end = name.indexOf(':');
  return { keyId: name.slice(end + 1), secretNumber: Number(name.slice(0, end)), at };
}
