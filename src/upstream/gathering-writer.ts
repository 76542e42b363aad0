import type { Writable } from 'node:stream';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { letGo } from '../wire/let-go.ts';

/**
 * Writes pieces of any size. Each write costs a kilobyte while it waits, whatever its size, and the bounds of a stream count only
 * bytes: an answer in pieces of one byte to a client that reads nothing took 11 MB. So while something waits, small pieces are
 * gathered, and go out together once that has been sent.
 */
export class GatheringWriter {
  readonly #to: Writable;
  readonly #gathered = new CollectedBytes(largeBytesMin);
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
    if (this.#gathered.length > 0) this.#pass(this.#gathered.take());
  }

  #gather(chunk: Buffer): boolean {
    if (this.#gathered.length + chunk.length > largeBytesMin) this.flush();
    if (chunk.length >= largeBytesMin) return this.#send(chunk);
    this.#gathered.add(chunk);
    return !this.#isFull;
  }

  readonly #whenSent: WhenSent = (error) => {
    if (error || this.#to.destroyed) return;
    if (this.#gathered.length > 0) this.#pass(this.#gathered.take(), this.#whenSent);
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

/** A smaller piece is not worth a callback: it weighs little until it is collected. */
const largeBytesMin = 16 * 1024;
