/** What there is in pieces of so many, in its order; the last may have fewer. */
export function* slicesOf<Item>(items: Iterable<Item>, size: number): Generator<readonly Item[], void> {
  let slice: Item[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length < size) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
