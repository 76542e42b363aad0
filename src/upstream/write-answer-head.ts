import type { ServerResponse } from 'node:http';
import { addOwn, copyHeaders, responseHeaderPasses, type Passes } from '../wire/headers.ts';
import { sendHead } from '../wire/send-head.ts';
import { errorOf, NonsenseAnswer } from './failures.ts';

/**
 * Writes the head of an upstream's answer to the client, cleaned the same way as a request's: hop-by-hop and nominated headers stay
 * here, names that are ours are dropped, then ours are added. The upstream's reason phrase is dropped too: Node throws at a control
 * character in it.
 */
export function writeAnswerHead(res: ServerResponse, status: number, parts: AnswerHeadParts): void {
  // Below 200 it can only be an upgrade nobody asked for; above 599 clients disagree about the meaning.
  if (status < 200 || status > 599) throw new NonsenseAnswer(`${status} is not the status of an answer`);
  write(res, status, [], parts);
}

/** The same for the 101 with which an upstream switches to WebSockets. From here on the client's socket carries no HTTP. */
export function writeSwitch(res: ServerResponse, parts: AnswerHeadParts): void {
  write(res, 101, ['Connection', 'Upgrade', 'Upgrade', 'websocket'], parts);
  // Not ended: the request is over, and is logged, when its socket closes.
  sendHead(res);
  if (res.socket !== null) res.detachSocket(res.socket);
}

/** What the head of an answer is made of: two flat lists, as Node's `rawHeaders` is. */
interface AnswerHeadParts {
  readonly raw: readonly string[];
  readonly ourHeaders: readonly string[];
}

function write(res: ServerResponse, status: number, headers: string[], parts: AnswerHeadParts): void {
  const { raw, ourHeaders } = parts;
  copyHeaders(raw, headers, status === 204 || status === 101 ? passesWithoutLength : responseHeaderPasses);
  addOwn(headers, ourHeaders);
  if (headers.some(isDisposition)) putLengthLast(headers);
  try {
    res.writeHead(status, headers);
  } catch (cause) {
    throw new NonsenseAnswer(errorOf(cause).message);
  }
}

/** RFC 9110 §8.6 forbids a length on a 101 or 204; an upstream that sends one with a body must not confuse the client. */
const passesWithoutLength: Passes = (name) =>
  name.toLowerCase() !== 'content-length' && responseHeaderPasses(name);

function isDisposition(text: string): boolean {
  return text.length === 19 && text.toLowerCase() === 'content-disposition';
}

/**
 * Node takes a `Content-Disposition` that follows a length for UTF-8 (`processHeader` in its _http_outgoing), though ours is the bytes
 * themselves: a file name beyond ASCII would be changed, or refused as one that cannot be sent.
 */
function putLengthLast(headers: string[]): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at]?.toLowerCase() === 'content-length') headers.push(...headers.splice(at, 2));
  }
}
