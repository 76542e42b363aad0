import type { ServerResponse } from 'node:http';
import { letGo } from '../let-go.ts';

/**
 * Writes the body of an answer to the client. Each write costs a kilobyte as long as it waits, whatever its size, and the bounds of
 * a stream count bytes alone: an answer in pieces of one byte to a client that reads nothing took 11 MB. So while some of it
 * waits, small pieces are gathered, and go together when that is sent.
 */
export class AnswerBody {
  readonly #res: ServerResponse;
  #gathered: Buffer | undefined;
  #length = 0;
  #gathers = false;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** False when the client has to catch up before there is more. */
  write(chunk: Buffer): boolean {
    if (this.#gathers) return this.#gather(chunk);
    if (chunk.length >= largeBytesMin || this.#res.writableLength === 0) return this.#send(chunk);
    this.#gathers = true;
    return this.#res.write(chunk, this.#whenSent);
  }

  /** Writes what still waits, before the end. */
  flush(): void {
    if (this.#length > 0) this.#res.write(this.#take());
  }

  #gather(chunk: Buffer): boolean {
    if (this.#length + chunk.length > largeBytesMin) this.flush();
    if (chunk.length >= largeBytesMin) return this.#send(chunk);
    this.#gathered ??= Buffer.allocUnsafeSlow(largeBytesMin);
    this.#length += chunk.copy(this.#gathered, this.#length);
    return !this.#res.writableNeedDrain;
  }

  #take(): Buffer | undefined {
    const taken = this.#gathered?.subarray(0, this.#length);
    this.#gathered = undefined;
    this.#length = 0;
    return taken;
  }

  readonly #whenSent = (error: Error | null | undefined): void => {
    if (error || this.#res.destroyed) return;
    if (this.#length > 0) this.#res.write(this.#take(), this.#whenSent);
    else this.#gathers = false;
  };

  /** Called back without an error, the kernel has the bytes, or nobody will read them any more. */
  #send(chunk: Buffer): boolean {
    if (chunk.length < largeBytesMin) return this.#res.write(chunk);
    return this.#res.write(chunk, (error) => {
      if (!error) letGo(chunk);
    });
  }
}

/** A smaller piece is not worth a callback: it weighs little until it is collected. */
const largeBytesMin = 16 * 1024;
