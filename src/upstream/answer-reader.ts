import { ChunkDecoder } from './chunk-decoder.ts';
import { NonsenseAnswer, switchedUnasked } from './failures.ts';
import { HeadReader } from './head-reader.ts';
import { type AnswerHead, hasNoBody, keptMsAfter } from './read-answer-head.ts';

/** Is told of an answer as it is read: its head once, then its body. */
export interface AnswerListener {
  answerBegins(status: number, raw: readonly string[]): void;
  /** The piece is the listener's to keep. */
  answerGoesOn(piece: Buffer): void;
}

/** Reads one answer after another from the bytes of a connection. Throws NonsenseAnswer. */
export class AnswerReader {
  #method = '';
  readonly #heads = new HeadReader();
  /** Bytes still to come of a body with a length; Infinity where it lasts until the connection ends. */
  #left = 0;
  #chunks: ChunkDecoder | undefined;

  begin(method: string): void {
    this.#method = method;
    this.#heads.begin();
  }

  get isOver(): boolean {
    return this.#heads.head !== undefined && this.#left === 0 && this.#chunks?.isOver !== false;
  }

  /** How long the connection may be used after this answer; 0 if it may not, undefined if the upstream does not say. */
  get keptMs(): number | undefined {
    const { head } = this.#heads;
    return head === undefined ? 0 : keptMsAfter(head, this.#method);
  }

  /** Reads on. Returns how many of the bytes belong to the answer: all, unless it ends before the last. May write to `bytes`. */
  read(bytes: Buffer, listener: AnswerListener): number {
    let at = 0;
    if (this.#heads.head === undefined) {
      at = this.#heads.read(bytes);
      if (this.#heads.head === undefined) return at;
      this.#begin(this.#heads.head, listener);
    }
    return this.#readBody(bytes, at, listener);
  }

  /** Whether the end of the connection is that of the answer. */
  get lastsUntilTheEnd(): boolean {
    return this.#left === Infinity;
  }

  #begin(head: AnswerHead, listener: AnswerListener): void {
    if (head.status === 101) throw new NonsenseAnswer(switchedUnasked);
    const framing = hasNoBody(head, this.#method) ? 0 : head.framing;
    this.#chunks = framing === 'chunked' ? new ChunkDecoder() : undefined;
    if (framing === 'until the end') this.#left = Infinity;
    else if (framing !== 'chunked') this.#left = framing;
    listener.answerBegins(head.status, head.raw);
  }

  #readBody(bytes: Buffer, from: number, listener: AnswerListener): number {
    const chunks = this.#chunks;
    if (chunks !== undefined) {
      const end = chunks.decode(bytes, from);
      if (chunks.found > 0) listener.answerGoesOn(copyOf(bytes, from, from + chunks.found));
      return end;
    }
    const end = Math.min(bytes.length, from + this.#left);
    this.#left -= end - from;
    if (end > from) listener.answerGoesOn(copyOf(bytes, from, end));
    return end;
  }
}

/** All connections are read into one buffer, so what is kept is copied. A large copy has memory of its own, which can be let go. */
function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const length = to - from;
  const copy = length < largeBytesMin ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
  bytes.copy(copy, 0, from, to);
  return copy;
}

const largeBytesMin = 4096;
