/** The same chunks. Each is the reader's until it asks for the next. */
export async function* lettingGo(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    yield chunk;
    letGo(chunk);
  }
}

/**
 * Gives the memory of a chunk back at once; the chunk has no bytes any more. Left to the collector, chunks pile up until the
 * young generation is full, because their bytes lie outside of it: 50 uploads at a time grew by 100 MB, and by 41 MB
 * with this. Memory that holds more than the chunk is left alone.
 */
export function letGo(chunk: Buffer): void {
  const { buffer, byteLength } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * Does so with a chunk of a stream of which all before it is done with: where it is the last of the memory, which is of one
 * read then, nothing of that is wanted any more. Whoever reads the stream may go on with what lies behind the chunk.
 * Measured with answers of 1 MB: twice the throughput, half the CPU and 45 MB less. V8 had taken the memory outside of its heap
 * for a reason to collect all of the heap, once for each 14 MB that passed.
 */
export function letGoInOrder(chunk: Buffer): void {
  const { buffer, byteOffset, byteLength } = chunk;
  if (isPooled(chunk) || !(buffer instanceof ArrayBuffer)) return;
  if (byteOffset + byteLength === buffer.byteLength) buffer.transfer(0);
}

/** Node cuts buffers of less than half of a pool from one, which others share. */
function isPooled({ buffer, byteLength }: Buffer): boolean {
  return buffer.byteLength === Buffer.poolSize && byteLength < Buffer.poolSize / 2;
}
