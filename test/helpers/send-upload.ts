import { boundary } from './form-body.ts';
import type { RawResponse } from './parse-responses.ts';
import type { Scene } from './poll.ts';
import { openRaw, requestBytes, type RawSocket } from './raw-socket.ts';
import { demoKey } from './start-gateway.ts';

/** How a body travels to the gateway. */
export type Framing = 'declared' | 'chunked';

/** One request with a body. */
export interface Upload {
  readonly path: string;
  readonly body: Buffer;
  readonly framing?: Framing;
  /** Of a chunked body. */
  readonly chunkSize?: number;
  readonly contentType?: string;
  readonly method?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** The Content-Type of `formBody`. */
export const formType = `multipart/form-data; boundary=${boundary}`;

/** The head of the request and the body in its framing. */
export function uploadBytes(upload: Upload): { readonly head: Buffer; readonly body: Buffer } {
  const {
    path,
    body,
    framing = 'declared',
    chunkSize,
    contentType = formType,
    method = 'POST',
    headers = [],
  } = upload;
  const length =
    framing === 'declared' ? ['Content-Length', String(body.length)] : ['Transfer-Encoding', 'chunked'];
  const all = [['apiKey', demoKey], ['Content-Type', contentType], length as [string, string], ...headers];
  const head = requestBytes(`${method} ${path}`, all as [string, string][]);
  return { head, body: framing === 'declared' ? body : chunked(body, chunkSize) };
}

/** Sends the request and returns the connection. */
export async function sendUpload(t: Scene, port: number, upload: Upload): Promise<RawSocket> {
  const raw = await openRaw(t, port);
  const { head, body } = uploadBytes(upload);
  raw.write(head);
  raw.write(body);
  return raw;
}

/** Sends the request on a connection of its own and returns the final response. */
export async function answerTo(t: Scene, port: number, upload: Upload): Promise<RawResponse> {
  const raw = await sendUpload(t, port, upload);
  const answer = (await raw.responses(1)).find(({ status }) => status >= 200);
  raw.socket.destroy();
  if (answer === undefined) throw new Error('the connection closed without a response');
  return answer;
}

/** The body in chunks of uneven size, with the last one. */
function chunked(body: Buffer, size = 7919): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}
