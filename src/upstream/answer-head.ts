import type { ServerResponse } from 'node:http';
import { copyHeaders, responseHeaderPasses, type Passes } from '../headers.ts';
import { NonsenseAnswer } from './failures.ts';

/** Bytes that the headers of an answer may have, whichever way it comes. */
export const answerHeadersMax = 32 * 1024;

/**
 * Writes the head of an upstream's answer to the client, cleaned the same way as a request's: hop-by-hop and nominated
 * headers stay here, names that are ours are dropped, then ours are added. The upstream's reason phrase is dropped too:
 * a control character in it has ended processes (node-http-proxy #1080).
 */
export function writeAnswerHead(
  res: ServerResponse,
  status: number,
  { raw, own }: { raw: readonly string[]; own: readonly string[] },
): void {
  // Below 200 it can only be an upgrade nobody asked for; above 599 clients disagree about the meaning.
  if (status < 200 || status > 599) throw new NonsenseAnswer(`${status} is not the status of an answer`);
  refuseCodings(raw);
  const headers: string[] = [];
  copyHeaders(raw, headers, status === 204 ? passesWithoutLength : responseHeaderPasses);
  for (const item of own) headers.push(item);
  try {
    res.writeHead(status, headers);
  } catch (cause) {
    throw new NonsenseAnswer(cause instanceof Error ? cause.message : 'its headers cannot be sent');
  }
}

/**
 * Node takes the chunks apart and leaves any other coding (RFC 9112 §6.1) in the body, whose name would be dropped here
 * with the hop: the client would take coded bytes for the content.
 */
function refuseCodings(raw: readonly string[]): void {
  let coded = false;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length !== 17 || name.toLowerCase() !== 'transfer-encoding') continue;
    if (coded || raw[i + 1]?.toLowerCase() !== 'chunked') {
      throw new NonsenseAnswer('its Transfer-Encoding is not exactly "chunked"');
    }
    coded = true;
  }
}

/** RFC 9110 §8.6 forbids a length on a 101 or 204; an upstream that sends one with a body must not confuse the client. */
export const passesWithoutLength: Passes = (name) =>
  name.toLowerCase() !== 'content-length' && responseHeaderPasses(name);
