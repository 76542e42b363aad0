import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** What Node's parser tells of each head it has read, and what it does next. */
type TakeHead = (req: IncomingMessage, keepsAlive: boolean) => number;

/** As Node's servers leave it on each socket. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: TakeHead } | null;
}

/** What Node's parser takes for "an upgrade: what follows is not HTTP". */
const readNoFurther = 2;

/**
 * Ends the reading of requests with the connection, or when no more are to be made of it. Node reads up to 64 KB at once and makes
 * a request and a response of every head in them, thousands perhaps, also when the connection was destroyed at the first. It keeps
 * them until the connection has closed, which is after all other connections with something to read have been read: 500 that send
 * 64 KB each would take over 1 GB. Call it when a server has a new connection.
 */
export function parseWhileOpen(socket: ParsedSocket, isOpen: () => boolean = () => !socket.destroyed): void {
  const { parser } = socket;
  if (parser === undefined || parser === null) return;
  const take = parser.onIncoming;
  parser.onIncoming = (req, keepsAlive) => (isOpen() ? take(req, keepsAlive) : readNoFurther);
}
