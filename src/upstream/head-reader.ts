import { NonsenseAnswer } from './failures.ts';
import { type AnswerHead, answerHeadersMax, readAnswerHead } from './read-answer-head.ts';

/** Reads the head of an answer from the bytes of a connection, past the interim answers before it. Throws NonsenseAnswer. */
export class HeadReader {
  /** Undefined until all of it has been read. */
  head: AnswerHead | undefined;
  /** What has come of the head so far. */
  #text = '';
  /** The end of that, where the end of the head may have begun. */
  #tail = '';
  /** How many bytes the interim answers before it took. */
  #interimBytes = 0;

  begin(): void {
    this.#interimBytes = 0;
    this.head = undefined;
  }

  /** Reads on, up to the end of the head. Returns where it stopped. */
  read(bytes: Buffer): number {
    let at = 0;
    while (this.head === undefined && at < bytes.length) at = this.#readOne(bytes, at);
    return at;
  }

  #readOne(bytes: Buffer, from: number): number {
    const before = this.#text.length;
    const until = Math.min(bytes.length, from + answerHeadersMax - before);
    const piece = bytes.toString('latin1', from, until);
    // Only what is new is searched: a head may come byte by byte.
    const lately = this.#tail + piece;
    const found = lately.indexOf('\r\n\r\n');
    if (found === -1) {
      this.#text += piece;
      this.#tail = lately.slice(-3);
      if (this.#text.length >= answerHeadersMax) throw new NonsenseAnswer('its headers are too large');
      const isStart = before >= protocol.length || protocol.startsWith(this.#text.slice(0, protocol.length));
      // There is no waiting for what can never become a head.
      if (!isStart || /[^\r]\n/.test(lately)) throw new NonsenseAnswer('it does not speak HTTP/1.1');
      return until;
    }
    const end = before + found - this.#tail.length;
    const head = readAnswerHead((this.#text + piece).slice(0, end + 2));
    this.#text = '';
    this.#tail = '';
    if (head.status < 100) throw new NonsenseAnswer(`${head.status} is not the status of an answer`);
    // A switch of protocols is the last thing said in this one.
    if (head.status >= 200 || head.status === 101) this.head = head;
    else this.#passOver(end);
    return from + end + 4 - before;
  }

  /**
   * Interim answers end here, though RFC 9110 §15.2 has a proxy pass on what it did not ask for: few clients expect them. A flood of
   * them would cost time, so they are bounded.
   */
  #passOver(bytes: number): void {
    this.#interimBytes += bytes;
    if (this.#interimBytes > answerHeadersMax) throw new NonsenseAnswer('it has too many interim answers');
  }
}

const protocol = 'HTTP/1.';
