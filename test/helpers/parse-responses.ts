/** One HTTP/1.1 response as it stood on the wire. */
export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  readonly httpVersion: string;
  /** In order and letter case as sent. */
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Without the chunk framing. */
  readonly body: Buffer;
  readonly text: string;
  /** False when the bytes end before the framing says that the response does. */
  readonly complete: boolean;
}

interface ParseOptions {
  /** The request methods in order, so that an answer to HEAD is known to have no body. */
  readonly methods?: readonly string[];
  /** Whether the sender closed: it is what ends a response without a length. */
  readonly closed?: boolean;
}

/** Splits the bytes of one connection into its responses, interim ones (1xx) included. */
export function parseResponses(
  bytes: Buffer,
  { methods = [], closed = true }: ParseOptions = {},
): RawResponse[] {
  const responses: RawResponse[] = [];
  let rest = bytes;
  let answered = 0;
  while (rest.length > 0) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) break;
    const head = parseHead(rest.subarray(0, headEnd).toString('latin1'));
    const framed = takeBody(head, rest.subarray(headEnd + 4), {
      isHead: methods[answered] === 'HEAD',
      closed,
    });
    responses.push({ ...head, body: framed.body, text: framed.body.toString(), complete: framed.complete });
    if (head.status >= 200) answered += 1;
    rest = framed.rest;
  }
  return responses;
}

type Head = Pick<RawResponse, 'status' | 'reason' | 'httpVersion' | 'rawHeaders' | 'headers'>;

function parseHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const match = /^HTTP\/(\d\.\d) (\d{3})(?: (.*))?$/.exec(statusLine);
  if (!match) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
  const rawHeaders = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const headers: Record<string, string> = {};
  for (const [name, value] of rawHeaders) {
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return { httpVersion: match[1]!, status: Number(match[2]), reason: match[3] ?? '', rawHeaders, headers };
}

interface Framed {
  readonly body: Buffer;
  readonly rest: Buffer;
  readonly complete: boolean;
}

const nothing = Buffer.alloc(0);

function takeBody(
  head: Head,
  bytes: Buffer,
  { isHead, closed }: { isHead: boolean; closed: boolean },
): Framed {
  const { status, headers } = head;
  const switches = status === 101;
  if (isHead || status === 204 || status === 304 || (status < 200 && !switches)) {
    return { body: nothing, rest: bytes, complete: true };
  }
  if (/\bchunked$/i.test(headers['transfer-encoding'] ?? '')) return takeChunks(bytes);
  const length = headers['content-length'];
  if (length === undefined || switches) return { body: bytes, rest: nothing, complete: closed || switches };
  const body = bytes.subarray(0, Number(length));
  return { body, rest: bytes.subarray(body.length), complete: body.length === Number(length) };
}

function takeChunks(bytes: Buffer): Framed {
  const chunks: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const size = lineEnd < 0 ? NaN : Number.parseInt(rest.subarray(0, lineEnd).toString('latin1'), 16);
    if (Number.isNaN(size)) return { body: Buffer.concat(chunks), rest: nothing, complete: false };
    if (size === 0) return endOfChunks(Buffer.concat(chunks), rest.subarray(lineEnd));
    const end = lineEnd + 2 + size;
    chunks.push(rest.subarray(lineEnd + 2, end));
    if (rest.length < end + 2) return { body: Buffer.concat(chunks), rest: nothing, complete: false };
    rest = rest.subarray(end + 2);
  }
}

/** Trailers, if any, are skipped: the part after the last chunk ends with an empty line. */
function endOfChunks(body: Buffer, afterLastSize: Buffer): Framed {
  const end = afterLastSize.indexOf('\r\n\r\n');
  return { body, rest: end < 0 ? nothing : afterLastSize.subarray(end + 4), complete: end >= 0 };
}
