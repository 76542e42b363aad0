/** Holds a limited number of entries: when it is full, the one set first makes room. Setting a key again makes it the newest. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #sizeMax: number;
  /**
   * Where the oldest entry is. A map that is asked for its first key each time steps over all that were deleted before it: at
   * 50,000 entries that took 35 µs, and this takes less than one (record 32). But V8 keeps all tables that a map has had since an
   * iterator was moved last, with everything that stood in them. So it is given up when the map is cleared, or was long not full.
   */
  #oldest: MapIterator<Key> | undefined;
  /** How many entries have been set since the oldest made room. */
  #setSince = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#sizeMax) this.#forgetOldest();
    else if ((this.#setSince += 1) > this.#sizeMax) this.#oldest = undefined;
    this.#entries.set(key, value);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  deleteWhere(matches: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (matches(value)) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
  }

  /** All keys that the iterator has passed are gone, so what it finds next is the oldest. */
  #forgetOldest(): void {
    this.#oldest ??= this.#entries.keys();
    this.#setSince = 0;
    const { done, value: key } = this.#oldest.next();
    if (done !== true) this.#entries.delete(key);
  }
}
