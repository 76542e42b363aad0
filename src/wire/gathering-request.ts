import type { IncomingMessage } from 'node:http';
import { Refusal } from '../refusals.ts';
import { breakBody, brokenBy } from './broken-body.ts';
import { GatheredPieces } from './gather-pieces.ts';
import { http } from './http.ts';

/** A class of requests whose bodies take little more memory than their bytes, and come in pieces of some size. */
export function createRequestClass(): typeof IncomingMessage {
  return class extends http.IncomingMessage {
    readonly #waiting = new GatheredPieces(this);
    #pieces = 0;
    #bytes = 0;

    override push(piece: Buffer | null): boolean {
      if (piece !== null) this.#count(piece.length);
      return this.#waiting.push(piece);
    }

    override read(size?: number): unknown {
      this.#waiting.handOver(size);
      return super.read(size);
    }

    /**
     * Each chunk costs the event loop some time whatever it holds: a body in chunks of one byte would cost a hundred times what its
     * size suggests. They are counted as they come: how many pieces are read from them depends on how long they wait.
     */
    #count(bytes: number): void {
      this.#pieces += 1;
      this.#bytes += bytes;
      if (this.#pieces <= freeChunks || this.#bytes >= this.#pieces * averageBytesMin) return;
      // A body of declared length may come as the network cuts it.
      if (this.headers['transfer-encoding'] === undefined || brokenBy(this) !== undefined) return;
      breakBody(this, new Refusal('body_malformed', { message: tooManyChunks }));
    }
  };
}

/** This many chunks may be as small as they like. */
const freeChunks = 1000;
/** What all chunks must hold on average once there are more. */
const averageBytesMin = 16;

const tooManyChunks = 'The request body comes in too many small chunks';
