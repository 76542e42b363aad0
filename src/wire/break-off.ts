import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endReadably } from './linger.ts';

/**
 * Ends an answer that cannot be finished, and with it its connection, so that nobody takes it for whole. One that stands behind
 * others has no connection yet: those that are ahead leave first, and of this one nothing. Node would send its beginning behind
 * them, and go on as if it had been whole. A client that still sends gets to read those that are ahead.
 */
export function breakOff(res: ServerResponse): void {
  const { socket } = res;
  // Not the response's own: for an upgrade whose body is still to come that is a stream around the socket (Node 26), without a reset.
  const connection = res.req.socket;
  if (socket === null && !connection.destroyed) res.once('socket', () => breakOff(res));
  else if (endsWithConnection(res)) connection.resetAndDestroy();
  else {
    if (socket !== null) {
      res.uncork(); // Node holds what was just written until this turn is over
      res.detachSocket(socket);
      endReadably(socket);
    }
    res.destroy();
  }
}

/** Ends a connection at once, and with it the first answer under way on it, if there is one. */
export function cutOff(socket: Socket, res: ServerResponse | undefined): void {
  if (res !== undefined && endsWithConnection(res)) socket.resetAndDestroy();
  else socket.destroy();
}

/**
 * Call it when a client has ended its side, before Node ends ours behind what is written by then, as if that were all.
 */
export function endHalfClosed(socket: Socket, res: ServerResponse | undefined): void {
  if (res === undefined || res.writableEnded || res.req.visit.answered === undefined) return;
  if (endsWithConnection(res)) socket.resetAndDestroy();
}

/** To a client of HTTP/1.0 the end of the connection may be the end of the answer, so only a reset tells it the truth. */
function endsWithConnection({ req }: ServerResponse): boolean {
  return req.httpVersion === '1.0';
}
