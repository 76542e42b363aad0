interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  next: Entry<Value> | undefined;
}

/** There are some hundred entries; ten thousand while a store is away. */
const slots = 256;

/**
 * What is under way, by text: it comes and goes with requests. A `Map` that has lived for a while would keep what it held when V8 last
 * packed it (see `Line`). Here nothing refers to what is over.
 */
export class PassingMap<Value> {
  readonly #first: (Entry<Value> | undefined)[] = Array.from({ length: slots }, () => undefined);

  get(key: string): Value | undefined {
    let one = this.#first[slotOf(key)];
    while (one !== undefined && one.key !== key) one = one.next;
    return one?.value;
  }

  /** Adds a value for a key that has none. */
  add(key: string, value: Value): void {
    const slot = slotOf(key);
    this.#first[slot] = { key, value, next: this.#first[slot] };
  }

  delete(key: string): void {
    const slot = slotOf(key);
    let before: Entry<Value> | undefined;
    let one = this.#first[slot];
    while (one !== undefined && one.key !== key) [before, one] = [one, one.next];
    if (before === undefined) this.#first[slot] = one?.next;
    else before.next = one?.next;
  }

  clear(): void {
    this.#first.fill(undefined);
  }
}

/** By all of it: the ids of many keys may begin alike, or end alike. */
function slotOf(key: string): number {
  let mixed = 0;
  for (let at = 0; at < key.length; at += 1) mixed = Math.imul(mixed, 31) + key.charCodeAt(at);
  return mixed & (slots - 1);
}
