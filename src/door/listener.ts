import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { openAcceptors } from './acceptors.ts';
import { peerOf } from '../wire/client-address.ts';
import type { Address, Limits } from '../config/config.ts';
import type { Connections } from './connections.ts';
import { http } from '../wire/http.ts';
import { endBehindUpgrade } from '../wire/ignored-upgrade.ts';
import { endReadably } from '../wire/linger.ts';
import { Refusal, type RefusalCode, type Wording } from '../refusals.ts';
import { breakBody } from '../wire/broken-body.ts';
import { afterReading, whenAllIsRead } from '../waiting/when-all-is-read.ts';

/** What is known of a request that never became one. */
export interface Unread {
  readonly requestId: string;
  readonly client: string;
  readonly status: number;
  readonly refusal: RefusalCode;
  readonly cause: unknown;
}

export type Handle = (req: IncomingMessage, res: ServerResponse) => void;

export interface Listener {
  readonly address: Address;
  /** Stops accepting, lets what is in flight end, and cuts what is left after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export interface ListenerOptions {
  readonly address: Address;
  /** Other processes listen there too, and the kernel deals the connections out. */
  readonly sharesPort: boolean;
  readonly limits: Limits;
  readonly connections: Connections;
  readonly handle: Handle;
  /** What requests and responses are made with. */
  readonly messages: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;
  readonly wording: Wording;
  readonly unreadable: (unread: Unread) => void;
}

/** How often Node looks for headers that are too slow, and we for readers that are and for what idle connections keep. */
const lookEveryMs = 1000;
/** So long a drain leaves kept connections open: a request may be on its way on them, from wherever its client is. */
const onTheWayMs = 250;

/**
 * Opens the public port. Whatever Node would answer, or let through, without asking us (`Expect`, `Upgrade`, `CONNECT`,
 * requests that cannot be parsed) is led through the same handler, so there is one door and no side entrance.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { limits, connections, handle, messages } = options;
  const server = http.createServer({
    ...messages,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: 0, // who reads a body holds it to its time, and knows when it was not the client who kept it waiting
    connectionsCheckingInterval: lookEveryMs,
    keepAliveTimeout: limits.keepAliveMs,
    insecureHTTPParser: false,
    optimizeEmptyRequests: true,
    requireHostHeader: false, // the door asks for exactly one, and answers in our words
    shouldUpgradeCallback: (req) => req.headers.upgrade?.toLowerCase() === 'websocket',
  });
  // One line more ends the reading at once: Node keeps lines as texts, so that heads without end, of thousands of short ones, would
  // fill the memory. Since 26.5.1 none is hidden from us (CVE-2026-58044).
  server.maxHeadersCount = limits.headerCount;
  const hasRoom = (): boolean => connections.count < limits.connections;
  server.on('connection', (socket: Socket) => {
    if (hasRoom()) connections.opened(socket);
    else socket.destroy();
  });
  // Node hands on all the requests of one read, thousands perhaps, also when the connection was destroyed at the first.
  const handleLive: Handle = (req, res) => {
    if (req.socket.destroyed) return;
    endBehindUpgrade(req, res);
    handle(req, res);
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, handleLive);
  const handleRaw = (req: IncomingMessage, socket: Duplex, ahead: Buffer): void => {
    // What the client sent ahead of the answer waits in the socket, to be passed on after a 101 or never.
    if (ahead.length > 0) socket.unshift(ahead);
    answerOnSocket(req, socket, options);
  };
  server.on('upgrade', handleRaw);
  server.on('connect', handleRaw);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === overdue) judgeLate(error, socket, options);
    else answerUnreadable(error, socket, options);
  });
  const look = (): void => {
    const now = performance.now();
    connections.endStalledReaders(now);
    connections.forgetAnswered();
    for (const socket of connections.overdue(now)) answerUnreadable(new Overdue(), socket, options);
  };
  const timer = setInterval(() => whenAllIsRead(look), lookEveryMs);
  timer.unref();
  const { address, sharesPort } = options;
  const acceptors = await openAcceptors(server, { address, sharesPort, hasRoom });
  return {
    address: acceptors.address,
    close: async (timeoutMs) => {
      connections.drain();
      // More than once: while those who wait are taken, some may come behind the cut.
      const hardStop = setInterval(() => connections.cut(), timeoutMs);
      await acceptors.takeWaiting();
      // Not earlier: a connection that was taken a moment ago is idle until its request is read.
      const stopWaiting = afterReading(onTheWayMs, () => server.closeIdleConnections());
      await acceptors.close();
      clearInterval(hardStop);
      stopWaiting();
      clearInterval(timer);
      await connections.gone();
    },
  };
}

/** Node hands `Upgrade` and `CONNECT` over as a bare socket. A response on it lets the same handler refuse them properly. */
function answerOnSocket(req: IncomingMessage, socket: Duplex, options: ListenerOptions): void {
  // Node has taken its own listeners off the socket: without one a reset by the client would end the process.
  socket.on('error', () => socket.destroy());
  if (options.connections.of(req.socket)?.isBusy === true) {
    // It came before the answers to earlier requests were out, which no honest client does: there is no place for one.
    const cause = new Error('an upgrade came behind a request under way');
    report(new Refusal('request_malformed', { cause }), req.socket, options);
    socket.destroy();
    return;
  }
  const res = new http.ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as Socket);
  res.once('finish', () => {
    res.detachSocket(socket as Socket);
    // It closes with that, and its connection a little later.
    res.destroy();
    endReadably(socket);
  });
  socket.on('drain', () => res.emit('drain'));
  options.handle(req, res);
}

/** A head that Node finds late may have come in time, and wait to be read in a process that stood still. */
function judgeLate(error: Error, socket: Socket, options: ListenerOptions): void {
  const before = options.connections.of(socket)?.requests;
  whenAllIsRead(() => {
    if (options.connections.of(socket)?.requests === before) answerUnreadable(error, socket, options);
  });
}

const overdue = 'ERR_HTTP_REQUEST_TIMEOUT';

/** What Node would say of a request that is too slow, if it still looked. */
class Overdue extends Error {
  readonly code = overdue;

  constructor() {
    super('Request timeout');
    this.name = 'Overdue';
  }
}

const parserCodes: Readonly<Record<string, RefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  [overdue]: 'request_timeout',
};

/** A connection is given up once: whatever its parser says of it afterwards is about the same broken bytes. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket, options: ListenerOptions): void {
  const { connections, wording } = options;
  // A client that ends in the middle of a request is as gone as one that resets: it waits for no answer.
  if (error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE') {
    socket.destroy();
    return;
  }
  const connection = connections.of(socket);
  if (connection?.giveUp() !== true) return;
  // Browsers and balancers open connections ahead of need. An answer to nothing could be taken for that to the next request.
  const neverAsked = error.code === overdue && socket.bytesRead === 0;
  if (neverAsked || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = parserCodes[error.code ?? ''] ?? 'request_malformed';
  const refusal = new Refusal(code, { cause: error });
  const { arriving } = connection;
  if (arriving !== undefined) {
    breakBody(arriving, refusal);
    return;
  }
  const requestId = report(refusal, socket, options);
  // Answers to earlier requests on this connection are still under way: one in between would be taken for theirs.
  if (connection.isBusy) return;
  endReadably(socket, bareAnswer(requestId, code, wording(refusal)));
}

function report(refusal: Refusal, socket: Socket, { wording, unreadable }: ListenerOptions): string {
  const requestId = randomUUID();
  const client = peerOf(socket);
  const { status } = wording(refusal);
  unreadable({ requestId, client, status, refusal: refusal.code, cause: refusal.cause });
  return requestId;
}

function bareAnswer(requestId: string, code: RefusalCode, { status, body }: ReturnType<Wording>): string {
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Gatehouse-Refusal: ${code}`,
    `X-Request-Id: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
