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
  /**
   * Kept here, not read from `writableNeedDrain`: Node clears that only while it listens to the response's socket, which it does
   * not behind an upgrade that is answered in HTTP.
   */
  #isFull = false;

  constructor(to: Writable) {
    this.#to = to;
  }

  /** False when the other side must catch up before it is sent more. */
  write(chunk: Buffer): boolean {
    if (this.#gathers) return this.#gather(chunk);
    if (chunk.length >= largeBytesMin || this.#to.writableLength === 0) return this.#send(chunk);
    this.#gathers = true;
    return this.#pass(chunk, this.#whenSent);
  }

  /** Writes what still waits, before the end. */
  flush(): void {
    if (this.#length > 0) this.#pass(this.#take());
  }

  #gather(chunk: Buffer): boolean {
    if (this.#length + chunk.length > largeBytesMin) this.flush();
    if (chunk.length >= largeBytesMin) return this.#send(chunk);
    this.#gathered ??= Buffer.allocUnsafeSlow(largeBytesMin);
    this.#length += chunk.copy(this.#gathered, this.#length);
    return !this.#isFull;
  }

  #take(): Buffer {
    const taken = this.#gathered?.subarray(0, this.#length) ?? nothing;
    this.#gathered = undefined;
    this.#length = 0;
    return taken;
  }

  readonly #whenSent: WhenSent = (error) => {
    if (error || this.#to.destroyed) return;
    if (this.#length > 0) this.#pass(this.#take(), this.#whenSent);
    else this.#gathers = false;
  };

  /** Once it calls back without an error the kernel has the bytes, or nobody will read them any more. */
  #send(chunk: Buffer): boolean {
    if (chunk.length < largeBytesMin) return this.#pass(chunk);
    return this.#pass(chunk, (error) => {
      if (!error) letGo(chunk);
    });
  }

  #pass(chunk: Buffer, whenSent?: WhenSent): boolean {
    const hasRoom = this.#to.write(chunk, whenSent);
    if (!hasRoom && !this.#isFull) {
      this.#isFull = true;
      this.#to.once('drain', () => (this.#isFull = false));
    }
    return hasRoom;
  }
}

type WhenSent = (error: Error | null | undefined) => void;

const nothing = Buffer.alloc(0);

/** A smaller piece is not worth a callback: it weighs little until it is collected. */
const largeBytesMin = 16 * 1024;
