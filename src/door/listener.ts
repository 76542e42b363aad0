import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address, Limits } from '../config/config.ts';
import { Refusal } from '../refusals.ts';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';
import { http } from '../wire/http.ts';
import { endBehindUpgrade } from '../wire/ignored-upgrade.ts';
import { endReadably } from '../wire/linger.ts';
import { parseWhileOpen } from '../wire/parse-while-open.ts';
import { openAcceptors } from './acceptors.ts';
import type { Connections } from './connections.ts';
import { answerClientError, report, type UnreadableOptions } from './unreadable.ts';

type Handle = (req: IncomingMessage, res: ServerResponse) => void;

export interface Listener {
  readonly address: Address;
  /** Stops accepting, lets what is in flight end, and cuts what is left after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

interface ListenerOptions extends UnreadableOptions {
  readonly address: Address;
  /** Other processes listen there too, and the kernel deals the connections out. */
  readonly sharesPort: boolean;
  readonly limits: Limits;
  readonly handle: Handle;
  /** What requests and responses are made with. */
  readonly messageClasses: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;
}

/** How often Node looks for headers that are late, and we for readers that stall and for what idle connections keep. */
const lookEveryMs = 1000;
/** For how long a drain leaves idle connections open: a request may be on its way on them, however far away its client is. */
const onTheWayMs = 250;
/** How often a drain looks for connections that have been idle for so long. */
const lookForIdleEveryMs = 50;

/**
 * Opens the public port. Whatever Node would answer, or let through, without asking us (`Expect`, `Upgrade`, `CONNECT`,
 * requests that cannot be parsed) is led through the same handler, so there is one door and no side entrance.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { address, sharesPort, connections } = options;
  const server = createServer(options);
  server.on('connection', (socket: Socket) => {
    // Node remembers the address, once it has been asked for. If the system does not know it any more, the client has reset the
    // connection while that waited at the port. If what such clients had asked were done, a flood of them would keep others waiting.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    if (!connections.hasRoom) {
      connections.refuse(socket);
      return;
    }
    const connection = connections.opened(socket);
    parseWhileOpen(socket, () => connections.takesMore(connection));
  });
  leadToHandler(server, options);
  const sweep = (): void => connections.sweep(performance.now());
  const timer = setInterval(() => whenAllIsRead(sweep), lookEveryMs).unref();
  const acceptors = await openAcceptors(server, { address, sharesPort, connections });
  return {
    address: acceptors.address,
    close: async (timeoutMs) => {
      connections.drain();
      // More than once: connections that wait at the port are still taken, some perhaps after the first cut.
      const hardStop = setInterval(() => connections.cut(), timeoutMs);
      // For a part of the time only: what is taken near its end would be cut before it is answered.
      await acceptors.takeWaiting(timeoutMs / 4);
      const endIdle = setInterval(
        () => whenAllIsRead(() => connections.endIdle(server, onTheWayMs)),
        lookForIdleEveryMs,
      );
      await acceptors.close();
      for (const each of [hardStop, endIdle, timer]) clearInterval(each);
      await connections.gone();
    },
  };
}

function createServer({ limits, messageClasses }: ListenerOptions): Server {
  const server = http.createServer({
    ...messageClasses,
    maxHeaderSize: limits.headerBytes + 1, // Node refuses a head that has as many
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
  return server;
}

/** Leads all that Node reads on the port to the handler, and what it cannot read to an answer of ours. */
function leadToHandler(server: Server, options: ListenerOptions): void {
  const { handle } = options;
  const handleRequest: Handle = (req, res) => {
    endBehindUpgrade(req, res);
    handle(req, res);
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, handleRequest);
  const handleRaw = (req: IncomingMessage, socket: Duplex, ahead: Buffer): void => {
    // What the client sent ahead of the answer waits in the socket, to be passed on after a 101 or never.
    socket.unshift(ahead);
    answerOnSocket(req, socket, options);
  };
  server.on('upgrade', handleRaw);
  server.on('connect', handleRaw);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    answerClientError(error, socket, options);
  });
  server.on('timeout', (socket: Socket) => endUnlessAsked(socket, options.connections));
}

/** The time of an idle connection is over. Node would end it at once, with a request that may wait in it unread. */
function endUnlessAsked(socket: Socket, connections: Connections): void {
  const { bytesRead } = socket;
  connections.whenRead(socket, () => {
    if (socket.bytesRead === bytesRead) socket.destroy();
  });
}

/**
 * Node hands `Upgrade` and `CONNECT` over as a bare socket, or, as long as a body is still to come (since 26.0), as a stream around it
 * that has nothing of a socket but reading and writing. A response on it lets the same handler refuse them properly.
 */
function answerOnSocket(req: IncomingMessage, socket: Duplex, options: ListenerOptions): void {
  // Node has taken its own listeners off the socket: without one a reset by the client would end the process.
  socket.on('error', () => socket.destroy());
  const connection = options.connections.of(req.socket);
  if (connection?.isBusy === true) {
    // It came before the answers to earlier requests were out, which no honest client does: there is no place for one to this.
    // With a code the log takes it for what can happen, and shows no stack.
    const cause = Object.assign(new Error('an upgrade came behind a request under way'), {
      code: 'UNTIMELY_UPGRADE',
    });
    report(new Refusal('request_malformed', { cause }), req.socket, options);
    connection.giveUp();
    socket.on('drain', () => connection.resumeAnswer());
    socket.on('end', () => socket.end());
    socket.resume(); // or nobody would hear the client leave
    return;
  }
  const res = new http.ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as Socket);
  res.once('finish', () => {
    res.detachSocket(socket as Socket);
    // The response closes with that, and the connection a little later.
    res.destroy();
    endReadably(socket);
  });
  socket.on('drain', () => res.emit('drain'));
  options.handle(req, res);
}
