/** The head of a request, but for the headers that speak of its connection. */
export interface RequestHead {
  readonly method: string;
  /** Path and query, as they were matched. */
  readonly path: string;
  readonly host: string;
  /** Flat as Node's `rawHeaders` is, the framing of the body among them. */
  readonly headers: readonly string[];
}

/**
 * A head as it goes on the wire, in latin1 as it came. A character that would end its line, or be cut down to one that does (U+010A in
 * latin1 is a line feed), would let a value speak in our name: nothing is sent then.
 */
export function writeRequestHead({ method, path, host, headers }: RequestHead, connection: string): string {
  if (!targetForm.test(path)) throw new Error('a path that cannot be sent came as far as the upstream');
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${checked(host)}\r\nconnection: ${connection}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    text += `${headers[i]}: ${checked(headers[i + 1] as string)}\r\n`;
  }
  return `${text}\r\n`;
}

function checked(value: string): string {
  if (valueForm.test(value)) return value;
  throw new Error('a header that cannot be sent came as far as the upstream');
}

const targetForm = /^[\x21-\x7e]+$/;
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/;
