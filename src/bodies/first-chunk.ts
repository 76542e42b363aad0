/**
 * Waits for the first chunk of what can be read only once. The function it returns reads all of them, and can be called again
 * while only the first has been asked for. Ending that early ends nothing: the chunks stay with their owner.
 */
export async function waitForFirst(
  chunks: AsyncIterator<Buffer, void>,
): Promise<() => AsyncIterable<Buffer, void>> {
  let first: IteratorResult<Buffer, void> | undefined = await chunks.next();
  return function read() {
    let isGiven = false;
    const next = async (): Promise<IteratorResult<Buffer, void>> => {
      if (!isGiven && first !== undefined) {
        isGiven = true;
        return first;
      }
      first = undefined; // or it would be held to the end
      return await chunks.next();
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  };
}
