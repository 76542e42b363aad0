import type { IncomingMessage } from 'node:http';
import { breakBody, brokenBy } from './broken-body.ts';
import { CollectedBytes } from './collected-bytes.ts';
import { http } from './http.ts';
import { Refusal } from './refusals.ts';

/**
 * A class of requests whose bodies take little more memory than their bytes. Node reads 64 KB ahead of whoever reads a body, and
 * keeps them in the pieces that came, each of which costs 450 bytes beside its own: 30 MB for one request that waits for its turn,
 * or whose upstream takes its time. Here small pieces that have to wait are gathered in one.
 */
export function gatheringRequest(): typeof IncomingMessage {
  return class extends http.IncomingMessage {
    /** What came behind pieces that nobody has read. */
    #gathered: CollectedBytes | undefined;
    /** Whether the stream has asked for a piece and got none. Until it gets one it asks for no other. */
    #isAsked = false;
    #pieces = 0;
    #bytes = 0;

    override push(piece: Buffer | null): boolean {
      if (piece !== null) this.#count(piece.length);
      if (piece === null || this.#isAsked || this.readableLength === 0 || piece.length >= largePiece) {
        this.#handOver();
        this.#isAsked = false;
        return super.push(piece);
      }
      this.#gathered ??= new CollectedBytes();
      this.#gathered.add(piece);
      return this.readableLength + this.#gathered.length < this.readableHighWaterMark;
    }

    override _read(size: number): void {
      this.#isAsked = !this.#handOver();
      // oxlint-disable-next-line no-underscore-dangle -- Node's own name for it
      super._read(size);
    }

    #handOver(): boolean {
      const gathered = this.#gathered;
      if (gathered === undefined) return false;
      this.#gathered = undefined;
      super.push(gathered.take());
      return true;
    }

    /**
     * Each chunk costs the event loop some time whatever it holds, so a body in chunks of one byte would cost a hundred times what
     * its size says. They are counted as they come: how many pieces are read of them depends on how long they have waited.
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

/** A piece as large as this is kept as it came: beside its bytes it costs little. */
const largePiece = 1024;

/** So many chunks may be as small as they like. */
const freeChunks = 1000;
/** What the chunks beyond them must hold on average. */
const averageBytesMin = 16;

const tooManyChunks = 'The request body comes in too many small chunks';
