import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Ends the connection behind a request that asked for an upgrade and is answered as if it had not. Node throws away what it read
 * together with such a request (26.10), so the next would be lost, or begin in the middle of what was its body.
 */
export function endBehindUpgrade({ headers }: IncomingMessage, res: ServerResponse): void {
  if (headers.upgrade !== undefined) res.shouldKeepAlive = false;
}
