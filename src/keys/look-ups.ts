import type { FoundKey } from './found-key.ts';

interface LookUp {
  readonly digest: string;
  readonly answer: Promise<FoundKey | undefined>;
  next: LookUp | undefined;
}

/** As many as the first two digits of a digest can tell apart. */
const slots = 256;

/**
 * The look-ups that are under way, by digest. A `Map` would keep those that it held when V8 last packed it (see `Line`): with a
 * million keys in use, a quarter of all that outlived their requests. Here nothing refers to one that is over.
 */
export class LookUps {
  readonly #first: (LookUp | undefined)[] = Array.from({ length: slots }, () => undefined);

  get(digest: string): Promise<FoundKey | undefined> | undefined {
    let one = this.#first[slotOf(digest)];
    while (one !== undefined && one.digest !== digest) one = one.next;
    return one?.answer;
  }

  /** Adds one for a digest that has none. */
  add(digest: string, answer: Promise<FoundKey | undefined>): void {
    const slot = slotOf(digest);
    this.#first[slot] = { digest, answer, next: this.#first[slot] };
  }

  delete(digest: string): void {
    const slot = slotOf(digest);
    let before: LookUp | undefined;
    let one = this.#first[slot];
    while (one !== undefined && one.digest !== digest) [before, one] = [one, one.next];
    if (before === undefined) this.#first[slot] = one?.next;
    else before.next = one?.next;
  }

  clear(): void {
    this.#first.fill(undefined);
  }
}

function slotOf(digest: string): number {
  return Number.parseInt(digest.slice(0, 2), 16);
}
