/** The items in order, in slices of `size`; the last may be shorter. */
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
