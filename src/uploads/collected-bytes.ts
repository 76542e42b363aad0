import { letGo } from '../let-go.ts';

/**
 * Bytes that are kept from chunks, copied into one buffer that doubles: a client may send them one by one, and so many small
 * buffers would cost a hundred times what they hold.
 */
export class CollectedBytes {
  #buffer: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      letGo(this.#buffer);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  /** All that was added, and begins anew. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#length);
    this.#buffer = nothing;
    this.#length = 0;
    return taken;
  }
}

// --- Internal ---

const nothing = Buffer.alloc(0);
