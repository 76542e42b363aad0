import { readPartHeader, type PartHeader } from './read-part-header.ts';
import { ambiguous } from './upload-refusals.ts';

/** Told what a body holds, in order. A throw ends the reading. */
export interface PartHandler {
  readonly partBegins: (header: PartHeader) => void;
  /** A slice of the caller's chunk: copy what is kept. */
  readonly partData: (data: Buffer) => void;
  readonly partEnds: () => void;
}

type State = 'start' | 'delimited' | 'headers' | 'content' | 'closed' | 'ended' | 'over';

const closedStates: ReadonlySet<State> = new Set(['closed', 'ended', 'over']);

/** Including the empty line. Django takes none longer: up to 4.2 it silently drops the part (its ticket 34968). */
const headerBytesMax = 1024;
const crlf = Buffer.from('\r\n');
const blankLine = Buffer.from('\r\n\r\n');
const nothing = Buffer.alloc(0);
const CR = 0x0d;
const DASH = 0x2d;

/**
 * Reads `multipart/form-data` and accepts its canonical form only (RFC 7578, RFC 2046 §5.1.1): no preamble, no padding, nothing
 * after the end but an empty line, and the boundary nowhere except in a delimiter, so that a parser which looks for it by line and
 * one which looks for it by bytes cut at the same places. Anything else throws `file_ambiguous`. The verdict does not depend on how
 * the body is cut into chunks. At most one delimiter or one block of part headers is held back.
 */
export class MultipartReader {
  readonly #handler: PartHandler;
  /** `--boundary` */
  readonly #dashed: Buffer;
  /** `CRLF--boundary` */
  readonly #delimiter: Buffer;
  #state: State = 'start';
  /** Bytes not decided yet in this state. */
  #held: Buffer = nothing;
  #spelling: string | undefined;
  #declaredLength: number | undefined;
  #partBytes = 0;
  /** Each takes what it can decide from the bytes and returns those that follow; none when it needs more. */
  readonly #steps: Readonly<Record<State, (bytes: Buffer) => Buffer>> = {
    start: (bytes) => this.#readStart(bytes),
    delimited: (bytes) => this.#readAfterDelimiter(bytes),
    headers: (bytes) => this.#readHeaders(bytes),
    content: (bytes) => this.#readContent(bytes),
    closed: (bytes) => this.#readLineEnd(bytes, 'ended'),
    // Node's form-data-encoder, and so got, writes an empty line behind the end.
    ended: (bytes) => this.#readLineEnd(bytes, 'over'),
    over: () => {
      throw ambiguous('something follows the end');
    },
  };

  constructor(boundary: string, handler: PartHandler) {
    this.#handler = handler;
    this.#dashed = Buffer.from(`--${boundary}`, 'latin1');
    this.#delimiter = Buffer.concat([crlf, this.#dashed]);
  }

  write(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = nothing;
    while (rest.length > 0) rest = this.#steps[this.#state](rest);
  }

  /** Whether the closing delimiter has been read. */
  isClosed(): boolean {
    return closedStates.has(this.#state);
  }

  end(): void {
    if (!this.isClosed()) throw ambiguous('the end is missing');
    if (this.#held.length > 0) throw ambiguous('something follows the end');
  }

  #hold(bytes: Buffer): Buffer {
    this.#held = Buffer.from(bytes);
    return nothing;
  }

  #readStart(bytes: Buffer): Buffer {
    const seen = Math.min(bytes.length, this.#dashed.length);
    if (!startsWith(this.#dashed, bytes.subarray(0, seen)))
      throw ambiguous('it does not begin with its boundary');
    if (seen < this.#dashed.length) return this.#hold(bytes);
    this.#state = 'delimited';
    return bytes.subarray(seen);
  }

  #readAfterDelimiter(bytes: Buffer): Buffer {
    if (bytes.length < 2) return this.#hold(bytes);
    const isEnd = bytes[0] === DASH && bytes[1] === DASH;
    if (!isEnd && !startsWith(bytes, crlf)) throw ambiguous('a line with the boundary does not end in CR LF');
    this.#state = isEnd ? 'closed' : 'headers';
    return bytes.subarray(2);
  }

  #readHeaders(bytes: Buffer): Buffer {
    const end = bytes.subarray(0, headerBytesMax).indexOf(blankLine);
    if (end === -1) {
      if (bytes.length >= headerBytesMax) throw ambiguous('the headers of a part are too long');
      return this.#hold(bytes);
    }
    const block = bytes.subarray(0, end);
    if (block.includes(this.#dashed)) throw ambiguous('a part header holds the boundary');
    const header = readPartHeader(block);
    // python-multipart 0.0.5 knows one spelling, and reads a part in the other with the name and the file name of the part before.
    this.#spelling ??= header.spelling;
    if (header.spelling !== this.#spelling)
      throw ambiguous('its parts write Content-Disposition in different ways');
    this.#state = 'content';
    this.#declaredLength = header.length;
    this.#partBytes = 0;
    this.#handler.partBegins(header);
    return bytes.subarray(end + blankLine.length);
  }

  #readContent(bytes: Buffer): Buffer {
    const at = bytes.indexOf(this.#dashed);
    if (at === -1) {
      const decided = this.#undecidedFrom(bytes);
      this.#emit(bytes.subarray(0, decided));
      return this.#hold(bytes.subarray(decided));
    }
    // The CRLF must lie within the content: one that ends the header lines is not part of a delimiter.
    if (at < 2 || !startsWith(bytes.subarray(at - 2), crlf)) {
      this.#emit(bytes.subarray(0, at));
      throw ambiguous('the boundary stands inside a part');
    }
    this.#emit(bytes.subarray(0, at - 2));
    if (this.#declaredLength !== undefined && this.#declaredLength !== this.#partBytes) {
      throw ambiguous('the Content-Length of a part is not true');
    }
    this.#handler.partEnds();
    this.#state = 'delimited';
    return bytes.subarray(at + this.#dashed.length);
  }

  #readLineEnd(bytes: Buffer, next: State): Buffer {
    const seen = Math.min(bytes.length, crlf.length);
    if (!startsWith(crlf, bytes.subarray(0, seen))) throw ambiguous('something follows the end');
    if (seen < crlf.length) return this.#hold(bytes);
    this.#state = next;
    return bytes.subarray(seen);
  }

  #emit(data: Buffer): void {
    this.#partBytes += data.length;
    this.#handler.partData(data);
  }

  /** The first place from which the bytes could still become a delimiter, or the boundary without its CRLF. */
  #undecidedFrom(bytes: Buffer): number {
    const { length } = bytes;
    for (let at = Math.max(0, length - this.#delimiter.length + 1); at < length; at += 1) {
      const byte = bytes[at];
      if (byte !== CR && byte !== DASH) continue;
      const tail = bytes.subarray(at);
      if (startsWith(this.#delimiter, tail) || startsWith(this.#dashed, tail)) return at;
    }
    return length;
  }
}

function startsWith(bytes: Buffer, prefix: Buffer): boolean {
  return bytes.length >= prefix.length && bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;
}
