import { Readable } from 'node:stream';
import { CollectedBytes } from './collected-bytes.ts';

/**
 * Makes what a stream reads ahead take little more memory than its bytes. Node reads 64 KB ahead of the reader, and keeps the
 * pieces that came, each of which costs 450 bytes beyond its own: 30 MB for one stream that waits. So small pieces that have to
 * wait are gathered in one. Only for readers that read until nothing is left: one that leaves something is not told of what follows.
 */
export function gatherPieces(stream: Readable): void {
  const pieces = new GatheredPieces(stream);
  const read = stream.read.bind(stream);
  stream.push = (piece: Buffer | null) => pieces.push(piece);
  stream.read = (size?: number) => {
    pieces.handOver(size);
    return read(size) as unknown;
  };
}

/** The pieces that come to one stream. It stands between their source and the stream, and between the stream and its reader. */
export class GatheredPieces {
  readonly #stream: Readable;
  /** What came after pieces that nobody has read. */
  #gathered: CollectedBytes | undefined;

  constructor(stream: Readable) {
    this.#stream = stream;
  }

  /** Takes a piece, or the end. False when enough waits. */
  push(piece: Buffer | null): boolean {
    const stream = this.#stream;
    if (piece === null || stream.readableLength === 0 || piece.length >= largePiece) {
      this.handOver();
      return pushOn(stream, piece);
    }
    this.#gathered ??= new CollectedBytes();
    this.#gathered.add(piece);
    return stream.readableLength + this.#gathered.length < stream.readableHighWaterMark;
  }

  /** Must be told of each read, with its size. A stream that reads ahead for itself reads nothing (size 0), and is given none. */
  handOver(size?: number): void {
    const gathered = this.#gathered;
    if (gathered === undefined || size === 0) return;
    this.#gathered = undefined;
    pushOn(this.#stream, gathered.take());
  }
}

/** A piece at least this large is kept as it came: it costs little beyond its bytes. */
const largePiece = 1024;

function pushOn(stream: Readable, piece: Buffer | null): boolean {
  return Readable.prototype.push.call(stream, piece);
}
