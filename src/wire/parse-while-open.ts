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
 * Ends the reading of requests with the connection, or when no more are to be made of it. Call it when a server has a new connection.
 * Node makes a request and a response of every head in the 64 KB that it reads at once, also when the connection was destroyed at the
 * first, and keeps them until all other connections have been read: 500 that send so much would take over 1 GB.
 */
export function parseWhileOpen(socket: ParsedSocket, isOpen: () => boolean = () => !socket.destroyed): void {
  const { parser } = socket;
  if (parser === undefined || parser === null) return;
  const take = parser.onIncoming;
  parser.onIncoming = (req, keepsAlive) => (isOpen() ? take(req, keepsAlive) : readNoFurther);
}
