/** The same chunks. Each is the reader's until it asks for the next. */
export async function* lettingGo(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    yield chunk;
    letGo(chunk);
  }
}

/**
 * Frees the memory of a chunk at once; the chunk then has no bytes. Left to the collector, chunks pile up, because their bytes lie
 * outside its heap, until there are so many that V8 collects the whole heap for them. 50 uploads at a time grew by 100 MB, and by
 * 41 MB with this; answers of 1 MB took twice the CPU. Memory that holds more than the chunk is left alone: Node reads for several
 * sockets into one piece, and cuts small buffers from another.
 */
export function letGo(chunk: Buffer): void {
  const { buffer, byteLength } = chunk;
  if (byteLength === 0 || !(buffer instanceof ArrayBuffer)) return;
  if (buffer.byteLength === byteLength) buffer.transfer(0);
}
