import type { Writable } from 'node:stream';
import { letGo } from '../wire/let-go.ts';

/**
 * Writes pieces of any size. Each write costs a kilobyte while it waits, whatever its size, and the bounds of a stream count only
 * bytes: an answer in pieces of one byte to a client that reads nothing took 11 MB. So while something waits, small pieces are
 * gathered, and go out together once that has been sent.
 */
export class GatheringWriter {
  readonly #to: Writable;
  #gathered: Buffer | undefined;
  #length = 0;
  #gathers = false;

  constructor(to: Writable) {
    this.#to = to;
  }

  /** False when the other side must catch up before it is sent more. */
  write(chunk: Buffer): boolean {
    if (this.#gathers) return this.#gather(chunk);
    if (chunk.length >= largeBytesMin || this.#to.writableLength === 0) return this.#send(chunk);
    this.#gathers = true;
    return this.#to.write(chunk, this.#whenSent);
  }

  /** Writes what still waits, before the end. */
  flush(): void {
    if (this.#length > 0) this.#to.write(this.#take());
  }

  #gather(chunk: Buffer): boolean {
    if (this.#length + chunk.length > largeBytesMin) this.flush();
    if (chunk.length >= largeBytesMin) return this.#send(chunk);
    this.#gathered ??= Buffer.allocUnsafeSlow(largeBytesMin);
    this.#length += chunk.copy(this.#gathered, this.#length);
    return !this.#to.writableNeedDrain;
  }

  #take(): Buffer | undefined {
    const taken = this.#gathered?.subarray(0, this.#length);
    this.#gathered = undefined;
    this.#length = 0;
    return taken;
  }

  readonly #whenSent = (error: Error | null | undefined): void => {
    if (error || this.#to.destroyed) return;
    if (this.#length > 0) this.#to.write(this.#take(), this.#whenSent);
    else this.#gathers = false;
  };

  /** Once it calls back without an error the kernel has the bytes, or nobody will read them any more. */
  #send(chunk: Buffer): boolean {
    if (chunk.length < largeBytesMin) return this.#to.write(chunk);
    return this.#to.write(chunk, (error) => {
      if (!error) letGo(chunk);
    });
  }
}

/** A smaller piece is not worth a callback: it weighs little until it is collected. */
const largeBytesMin = 16 * 1024;
