import type { IncomingMessage } from 'node:http';
import { Refusal } from '../refusals.ts';

/** So many chunks may be as small as they like. */
const freeChunks = 1000;
/** What the chunks beyond them must hold on average. */
const averageBytesMin = 16;

/**
 * Counts the chunks of one body. Each costs the event loop some microseconds whatever it holds, so a body in chunks of one
 * byte would cost a hundred times what its size says. A body of declared length may come as the network cuts it.
 */
export class ChunkCount {
  readonly #isChunked: boolean;
  #chunks = 0;
  #bytes = 0;

  constructor({ headers }: IncomingMessage) {
    this.#isChunked = headers['transfer-encoding'] !== undefined;
  }

  /** Counts one more; the refusal of the body when there are too many for their size. */
  add(bytes: number): Refusal | undefined {
    if (!this.#isChunked) return undefined;
    this.#chunks += 1;
    this.#bytes += bytes;
    if (this.#chunks <= freeChunks || this.#bytes >= this.#chunks * averageBytesMin) return undefined;
    return new Refusal('body_malformed', { message: 'The request body comes in too many small chunks' });
  }
}
