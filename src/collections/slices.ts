/** A list in pieces of so many, in its order; the last may have fewer. */
export function* slicesOf<Item>(list: readonly Item[], size: number): Generator<readonly Item[], void> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
