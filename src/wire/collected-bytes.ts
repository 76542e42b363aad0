import { letGo } from './let-go.ts';

/**
 * Bytes collected from chunks, in one buffer that doubles: a client may send them one by one, and millions of small buffers would
 * cost a hundred times what they hold.
 */
export class CollectedBytes {
  readonly #lengthMax: number;
  #buffer: Buffer = nothing;
  #length = 0;

  /** The buffer doubles up to `lengthMax`, and beyond it to what is needed. */
  constructor(lengthMax = Number.MAX_SAFE_INTEGER) {
    this.#lengthMax = lengthMax;
  }

  get length(): number {
    return this.#length;
  }

  /** Copies the chunk. */
  add(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.max(needed, Math.min(2 * this.#buffer.length, this.#lengthMax)),
      );
      this.#buffer.copy(larger, 0, 0, this.#length);
      letGo(this.#buffer);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  /** Takes the chunk over: a single one is never copied, and one that was copied is let go and no longer has a length. */
  takeOver(chunk: Buffer): void {
    if (this.#length > 0) {
      this.add(chunk);
      letGo(chunk);
      return;
    }
    this.#buffer = chunk;
    this.#length = chunk.length;
  }

  /** Everything added so far. It is good until more is. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Starts empty again, and keeps the buffer for what comes. */
  clear(): void {
    this.#length = 0;
  }

  /** Starts empty again, and frees the buffer at once. Nobody may be reading it. */
  letGo(): void {
    letGo(this.#buffer);
    this.#buffer = nothing;
    this.#length = 0;
  }

  /** Everything added; starts empty again. */
  take(): Buffer {
    const taken = this.bytes;
    this.#buffer = nothing;
    this.#length = 0;
    return taken;
  }
}

/** All bytes of a stream. Throws what `tooMany` makes as soon as there are more than so many. */
export async function collectAll(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  tooMany: () => Error,
): Promise<Buffer> {
  const collected = new CollectedBytes(bytesMax);
  for await (const chunk of chunks) {
    collected.add(chunk);
    if (collected.length > bytesMax) throw tooMany();
  }
  return collected.take();
}

const nothing = Buffer.alloc(0);
