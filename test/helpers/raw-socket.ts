import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parseResponses, type RawResponse } from './parse-responses.ts';
import { until, type Scene } from './poll.ts';

/** A TCP connection whose every byte the test decides. */
export interface RawSocket {
  readonly socket: Socket;
  /** True once the other side has ended or reset the connection. */
  readonly closed: boolean;
  /** Set when the connection ended with an error, such as a reset. */
  readonly error: NodeJS.ErrnoException | undefined;
  write(bytes: string | Buffer): void;
  /** Everything that came in so far. */
  received(): Buffer;
  /** Waits until the predicate likes what came in. */
  receivedUntil(predicate: (bytes: Buffer) => boolean): Promise<Buffer>;
  /** Waits until the other side closes and returns everything that came in. */
  receivedUntilClose(): Promise<Buffer>;
  /** Waits for that many complete final responses, or for the close, and returns all, interim ones included. */
  responses(count?: number): Promise<RawResponse[]>;
}

interface RawOptions {
  readonly host?: string;
  /** The own address; otherwise the system chooses one. */
  readonly from?: string;
  /** The methods of the requests in order; needed only when one is HEAD. */
  readonly methods?: readonly string[];
}

/** Opens a connection that the scene destroys at its end. Text is written as latin1, so `\xff` is one byte. */
export async function openRaw(t: Scene, port: number, options: RawOptions = {}): Promise<RawSocket> {
  const { host = '127.0.0.1', from } = options;
  const own = from === undefined ? {} : { localAddress: from };
  const socket = connect({ port, host, noDelay: true, ...own });
  const chunks: Buffer[] = [];
  let closed = false;
  let error: NodeJS.ErrnoException | undefined;
  t.after(() => void socket.destroy());
  await once(socket, 'connect');
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => (closed = true));
  socket.on('close', () => (closed = true));
  socket.on('error', (cause) => (error = cause));

  // Tests ask again and again: what has not changed is neither joined nor parsed twice.
  const received = (): Buffer => {
    if (chunks.length !== 1) chunks.splice(0, chunks.length, Buffer.concat(chunks));
    return chunks[0]!;
  };
  let last: { bytes: Buffer; closed: boolean; responses: RawResponse[] } | undefined;
  const parsed = (): RawResponse[] => {
    const bytes = received();
    if (last?.bytes !== bytes || last.closed !== closed)
      last = { bytes, closed, responses: parseResponses(bytes, { methods: options.methods ?? [], closed }) };
    return [...last.responses];
  };
  const waitFor = (what: string, condition: () => boolean): Promise<boolean> =>
    until(condition, { what }).catch((cause: unknown) => {
      throw new Error(`${what}; received so far: ${JSON.stringify(received().toString('latin1'))}`, {
        cause,
      });
    });

  return {
    socket,
    get closed() {
      return closed;
    },
    get error() {
      return error;
    },
    received,
    write(bytes) {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    },
    async receivedUntil(predicate) {
      await waitFor('the bytes that were waited for', () => predicate(received()));
      return received();
    },
    async receivedUntilClose() {
      await waitFor('the close of the connection', () => closed);
      return received();
    },
    async responses(count = 1) {
      await waitFor(`${count} complete responses`, () => closed || countFinal(parsed()) >= count);
      return parsed();
    },
  };
}

/** Writes the bytes on a connection of their own and returns the first final response. */
export async function exchange(t: Scene, port: number, bytes: string | Buffer): Promise<RawResponse> {
  const method = bytes.toString().startsWith('HEAD ') ? 'HEAD' : 'GET';
  const raw = await openRaw(t, port, { methods: [method] });
  raw.write(bytes);
  const final = (await raw.responses(1)).find(({ status }) => status >= 200 || status === 101);
  raw.socket.destroy();
  if (!final) throw new Error('the connection was closed without an answer', { cause: raw.error });
  return final;
}

/** The bytes of one HTTP/1.1 request; a body brings its Content-Length unless the headers frame it themselves. */
export function requestBytes(
  requestLine: string,
  headers: readonly (readonly [name: string, value: string])[] = [],
  body: string | Buffer = '',
): Buffer {
  const framed = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const hosted = headers.some(([name]) => /^host$/i.test(name));
  const all = [...headers];
  if (!hosted) all.unshift(['Host', 'gateway.test']);
  if (!framed && body.length > 0) all.push(['Content-Length', String(Buffer.byteLength(body))]);
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${requestLine} HTTP/1.1\r\n${head}\r\n`, 'latin1'), Buffer.from(body)]);
}

/** How many have been closed by the other side. */
export function countClosed(connections: readonly RawSocket[]): number {
  return connections.filter(({ closed }) => closed).length;
}

function countFinal(responses: readonly RawResponse[]): number {
  return responses.filter(({ status, complete }) => complete && (status >= 200 || status === 101)).length;
}
