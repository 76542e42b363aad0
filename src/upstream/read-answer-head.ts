import { NonsenseAnswer } from './failures.ts';

/** How many bytes the headers of an answer may have, in either lane. */
export const answerHeadersMax = 32 * 1024;

/** The head of an answer: what it says, how its body ends, and whether its connection goes on. */
export interface AnswerHead {
  readonly status: number;
  /** Flat as Node's `rawHeaders` is: name, value, name, value. */
  readonly raw: readonly string[];
  readonly framing: Framing;
  /** How long the upstream keeps the connection; 0 when it closes it, undefined when it does not say. */
  readonly keptMs: number | undefined;
}

/** A length in bytes, chunks, or everything until the connection ends. */
type Framing = number | 'chunked' | 'until the end';

/**
 * Reads a head, from its status line to the end of its last header. It is read strictly: whatever RFC 9112 lets a recipient
 * repair (a bare LF, a folded line, a blank before a colon, two lengths) is where two readers of one answer come to disagree.
 */
export function readAnswerHead(text: string): AnswerHead {
  if (!headForm.test(text)) throw new NonsenseAnswer(whatIsWrong(text));
  const raw: string[] = [];
  let length: string | undefined;
  let coding: string | undefined;
  let connection = '';
  let keepAlive = '';
  let at = text.indexOf('\r\n') + 2;
  while (at < text.length) {
    const colon = text.indexOf(':', at);
    const end = text.indexOf('\r\n', colon);
    const name = text.slice(at, colon);
    const value = trimmed(text, colon + 1, end);
    raw.push(name, value);
    at = end + 2;
    // Looking at the length first spares most names the folding.
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      length = once(length, value, 'Content-Length');
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      coding = once(coding, value, 'Transfer-Encoding');
      // With a tab behind it that is another coding to Node's parser, and what follows is not chunks.
      if (/\t *$/.test(text.slice(colon, end))) throw new NonsenseAnswer(unknownCoding);
    } else if (name.length === 10) {
      const folded = name.toLowerCase();
      if (folded === 'connection') connection += `,${value}`;
      else if (folded === 'keep-alive') keepAlive = value;
    }
  }
  const isOld = text.startsWith('HTTP/1.0');
  return {
    status: Number(text.slice(9, 12)),
    raw,
    framing: framingOf(length, coding, isOld),
    keptMs: keptMsOf(connection, keepAlive, isOld),
  };
}

/** How long a connection may be used after a whole answer with this head; 0 if it may not, undefined if the upstream does not say. */
export function keptMsAfter(head: AnswerHead, method: string): number | undefined {
  const { framing, keptMs } = head;
  const ends = hasNoBody(head, method)
    ? // If its headers speak of a body, that may still come.
      method === 'HEAD' || (framing !== 'until the end' && framing !== 0)
    : framing === 'until the end';
  return ends ? 0 : keptMs;
}

/** RFC 9112 §6.3: whatever its headers say. */
export function hasNoBody({ status }: AnswerHead, method: string): boolean {
  return method === 'HEAD' || status === 204 || status === 304;
}

/** Whether a line, with its line ending, is a header. */
export function isHeaderLine(line: string): boolean {
  return lineForm.test(line);
}

const unknownCoding = 'its Transfer-Encoding is not exactly "chunked"';

const header = "[!#$%&'*+.^_`|~\\w-]+:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n";
const statusLine = 'HTTP/1\\.[01] \\d{3}(?: [\\t\\x20-\\x7e\\x80-\\xff]*)?\\r\\n';
const headForm = new RegExp(`^${statusLine}(?:${header})*$`);
const statusForm = new RegExp(`^${statusLine}`);
const lineForm = new RegExp(`^${header}$`);

function whatIsWrong(text: string): string {
  return statusForm.test(text) ? 'its headers are malformed' : 'it does not speak HTTP/1.1';
}

/** Without the blanks and tabs around a value, which are no part of it (RFC 9110 §5.5). */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (start < end && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function once(before: string | undefined, value: string, name: string): string {
  if (before === undefined) return value;
  throw new NonsenseAnswer(`it has two ${name} headers`);
}

/** RFC 9112 §6.3, but with a refusal wherever it speaks of recovery. */
function framingOf(length: string | undefined, coding: string | undefined, isOld: boolean): Framing {
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw new NonsenseAnswer(unknownCoding);
    if (length !== undefined) throw new NonsenseAnswer('it has a Content-Length beside chunks');
    if (isOld) throw new NonsenseAnswer('it has chunks in HTTP/1.0');
    return 'chunked';
  }
  if (length === undefined) return 'until the end';
  // A petabyte at most, which is exact in a double.
  if (!/^\d{1,15}$/.test(length)) throw new NonsenseAnswer('its Content-Length is no length');
  return Number(length);
}

/** The result for the last head: the heads of an upstream repeat the same words, and reading them each time took 1 % of the CPU. */
let last = { connection: '', keepAlive: '', isOld: false, keptMs: undefined as number | undefined };

function keptMsOf(connection: string, keepAlive: string, isOld: boolean): number | undefined {
  if (connection !== last.connection || keepAlive !== last.keepAlive || isOld !== last.isOld) {
    last = { connection, keepAlive, isOld, keptMs: readKeptMs(connection, keepAlive, isOld) };
  }
  return last.keptMs;
}

function readKeptMs(connection: string, keepAlive: string, isOld: boolean): number | undefined {
  const options = connection.toLowerCase().split(',');
  const says = (option: string): boolean => options.some((one) => one.trim() === option);
  if (says('close') || (isOld && !says('keep-alive'))) return 0;
  const seconds = /(?:^|[\s,])timeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
