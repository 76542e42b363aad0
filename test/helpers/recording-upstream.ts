import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scene } from './poll.ts';

/** A request as the upstream received it. It is recorded when its headers arrive; the body fills in later. */
export interface RecordedRequest {
  readonly method: string;
  /** The raw request target. */
  readonly target: string;
  readonly httpVersion: string;
  /** Names and values alternate, in order and letter case as received. */
  readonly rawHeaders: readonly string[];
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The whole body arrived. */
  complete: boolean;
  /** The connection went away before the response was finished. */
  aborted: boolean;
}

/** Answers one request. Whatever it throws ends the test process, as it should. */
export type UpstreamHandler = (
  request: RecordedRequest,
  res: ServerResponse,
  req: IncomingMessage,
) => unknown;

/** A lenient server that remembers everything that reached it. */
export interface RecordingUpstream {
  readonly port: number;
  readonly url: string;
  readonly requests: RecordedRequest[];
  /** What reached it and could not be parsed as a request even leniently. */
  readonly malformed: Buffer[];
  /** How many connections were ever opened to it. */
  readonly connections: number;
  /** Called when the whole body is there; echoes the request as JSON unless a test sets another. */
  handler: UpstreamHandler;
  /** When set, called as soon as the headers are there, instead of `handler`. */
  onArrival: UpstreamHandler | undefined;
  /** Stops listening and cuts every connection. */
  close(): Promise<void>;
  /** Listens again, on the same port. */
  reopen(): Promise<void>;
}

/** Starts the upstream on a free loopback port. It takes what a strict server would refuse, so nothing goes unseen. */
export async function startRecordingUpstream(
  t: Scene,
  handler: UpstreamHandler = echo,
): Promise<RecordingUpstream> {
  const server = createServer({
    insecureHTTPParser: true,
    requireHostHeader: false,
    maxHeaderSize: 1024 * 1024,
    keepAliveTimeout: 0,
    requestTimeout: 0,
    headersTimeout: 0,
  });
  const requests: RecordedRequest[] = [];
  const malformed: Buffer[] = [];
  let connections = 0;
  server.on('connection', () => (connections += 1));
  server.on('clientError', (error: Error & { rawPacket?: Buffer }, socket) => {
    if (error.rawPacket) malformed.push(error.rawPacket);
    socket.destroy();
  });
  server.on('connect', (req, socket) => {
    requests.push(arrivalOf(req));
    socket.destroy();
  });
  server.on('request', (req, res) => {
    const chunks: Buffer[] = [];
    const record = arrivalOf(req, chunks);
    requests.push(record);
    res.on('close', () => (record.aborted = !res.writableFinished));
    void collect(req, record, chunks).then(() =>
      record.complete && !upstream.onArrival ? upstream.handler(record, res, req) : undefined,
    );
    upstream.onArrival?.(record, res, req);
  });
  const listen = async (port: number): Promise<number> => {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  };
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  t.after(close);
  const port = await listen(0);
  const upstream: RecordingUpstream = {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    malformed,
    get connections() {
      return connections;
    },
    handler,
    onArrival: undefined,
    close,
    reopen: async () => void (await listen(port)),
  };
  return upstream;
}

/** The default answer: what was received, as JSON. */
function echo(request: RecordedRequest, res: ServerResponse): void {
  const { method, target, headers, body } = request;
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ method, target, headers, body: body.toString() }));
}

/** The chunks become one when somebody looks: a large body comes in many. */
function arrivalOf(req: IncomingMessage, chunks: Buffer[] = []): RecordedRequest {
  const headers = Object.entries(req.headersDistinct).map(([name, values]) => [name, values?.join(', ')]);
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    httpVersion: req.httpVersion,
    rawHeaders: req.rawHeaders,
    headers: Object.fromEntries(headers) as Record<string, string>,
    get body() {
      if (chunks.length !== 1) chunks.splice(0, chunks.length, Buffer.concat(chunks));
      return chunks[0]!;
    },
    complete: false,
    aborted: false,
  };
}

async function collect(req: IncomingMessage, record: RecordedRequest, chunks: Buffer[]): Promise<void> {
  req.on('data', (chunk: Buffer) => void chunks.push(chunk));
  await new Promise<void>((resolve) => {
    req.on('close', resolve);
    req.on('end', resolve);
    req.on('error', () => resolve());
  });
  record.complete = req.complete;
}
