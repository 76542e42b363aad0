import type { IncomingMessage, ServerResponse } from 'node:http';
import { endReadablyAfterLast } from './linger.ts';

/**
 * Ends the connection after a request that asked for an upgrade and is answered as if it had not. Node throws away what it read
 * together with such a request (26.10), so the next would be lost, or begin in the middle of this one's body.
 */
export function endBehindUpgrade({ headers, socket }: IncomingMessage, res: ServerResponse): void {
  if (headers.upgrade === undefined) return;
  // Without this word an upgrade asks for nothing, and nothing is thrown away. Node's parser reads both headers alike.
  const named = [headers.connection, headers['proxy-connection']].join();
  if (!/upgrade/i.test(named)) return;
  res.shouldKeepAlive = false;
  endReadablyAfterLast(socket);
}
