import type { ServerResponse } from 'node:http';

/**
 * Ends an answer that cannot be finished, and with it its connection, so that nobody takes it for whole. One that stands behind
 * others has no connection yet: those that are ahead leave first, and of this one nothing. Node would send its beginning behind
 * them, and go on as if it had been whole. To a client of HTTP/1.0 the end of the connection may be the end of the answer, so
 * only a reset tells it the truth.
 */
export function breakOff(res: ServerResponse): void {
  if (res.socket === null && !res.req.socket.destroyed) res.once('socket', () => breakOff(res));
  else if (res.req.httpVersion === '1.0') res.socket?.resetAndDestroy();
  else res.destroy();
}
