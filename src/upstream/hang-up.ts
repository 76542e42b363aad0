import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Ends a connection to a target in the midst of an exchange. Closed in order, it would keep its local port for a minute (TIME_WAIT):
 * a caller that asks and leaves 500 times a second would take them all, and nobody else could be served (record 52). Over TLS Node
 * knows no reset, nor while the connection is being made or closed.
 */
export function hangUp(socket: Socket): void {
  const { connecting, readableEnded, writableEnded } = socket;
  if (connecting || readableEnded || writableEnded || socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
