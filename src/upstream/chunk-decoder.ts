import { NonsenseAnswer } from './failures.ts';
import { isHeaderLine } from './read-answer-head.ts';

/** Takes the chunks of one body apart (RFC 9112 §7.1). Extensions and trailers are read, and dropped. */
export class ChunkDecoder {
  /** The last chunk and its trailers have been read. */
  isOver = false;
  /** Bytes of content that the last call found. */
  found = 0;
  #expects: 'a size' | 'the end of a chunk' | 'a trailer' = 'a size';
  /** Bytes still to come of the current chunk. */
  #left = 0;
  #line = '';
  #trailerBytes = 0;

  /**
   * Reads on from `from`, and moves the content it finds together, to begin there: it never takes more room than the chunks around
   * it. Returns the offset after the last byte it read, which is the end unless the body was over before.
   */
  decode(bytes: Buffer, from: number): number {
    let at = from;
    this.found = 0;
    while (at < bytes.length && !this.isOver) {
      at = this.#left > 0 ? this.#moveContent(bytes, at, from) : this.#readLine(bytes, at);
    }
    return at;
  }

  #moveContent(bytes: Buffer, at: number, from: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    bytes.copyWithin(from + this.found, at, end);
    this.found += end - at;
    this.#left -= end - at;
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(0x0a, at);
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1;
    if (this.#line.length + end - at > lineBytesMax)
      throw new NonsenseAnswer('a line of its chunks is too long');
    this.#line += bytes.toString('latin1', at, end);
    if (lineFeed === -1) return end;
    const line = this.#line;
    this.#line = '';
    this.#take(line);
    return end;
  }

  #take(line: string): void {
    switch (this.#expects) {
      case 'a size':
        return this.#takeSize(line);
      case 'the end of a chunk':
        if (line !== '\r\n') throw new NonsenseAnswer('a chunk is longer than its size');
        this.#expects = 'a size';
        return;
      case 'a trailer':
        this.#takeTrailer(line);
    }
  }

  #takeSize(line: string): void {
    const size = sizeForm.exec(line)?.[1];
    if (size === undefined) throw new NonsenseAnswer('a chunk has no size');
    this.#left = Number.parseInt(size, 16);
    this.#expects = this.#left === 0 ? 'a trailer' : 'the end of a chunk';
  }

  #takeTrailer(line: string): void {
    if (line === '\r\n') {
      this.isOver = true;
      return;
    }
    this.#trailerBytes += line.length;
    if (this.#trailerBytes > lineBytesMax) throw new NonsenseAnswer('its trailers are too long');
    if (!isHeaderLine(line) || framing.test(line)) throw new NonsenseAnswer('its trailers are malformed');
  }
}

/** Trailers that Node's own parser refuses, which reads for the streamed lane: they say where the body ends. */
const framing = /^(?:content-length:|transfer-encoding:[\t ]*\r\n$)/i;

/**
 * For a size with its extensions (CVE-2024-22019), and for all trailers together. All extensions together have no bound: an
 * upstream may sign each chunk of an endless answer (RFC 9112 §7.1.1), and could send as much in the chunks.
 */
const lineBytesMax = 16 * 1024;

/**
 * A size and its extensions (RFC 9112 §7.1.1). We take the extensions that Node's own parser takes, which reads for the streamed
 * lane: no blanks, and some that are not extensions at all, like `;=`. After leading zeros 12 digits are 256 TB, and exact in a
 * double.
 */
const token = String.raw`[!#$%&'*+\-.^_\`|~\w]`;
const quoted = String.raw`"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`;
const value = `=${token}*(?:${quoted})?`;
const sizeForm = new RegExp(
  String.raw`^(0{0,16}[\da-f]{1,12})(?:;(?:${token}+(?:${value})?|${value}|(?=;)))*\r\n$`,
  'i',
);
