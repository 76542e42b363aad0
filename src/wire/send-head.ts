import type { ServerResponse } from 'node:http';

/**
 * Sends the head of a response at once, even where no body can follow (HEAD, 204, 304): there Node takes a `write` and sends
 * nothing. By itself, `flushHeaders` takes the head for UTF-8 text, and so changes its bytes.
 */
export function sendHead(res: ServerResponse): void {
  const { socket } = res;
  if (socket === null) {
    // It waits for others on its connection.
    res.once('socket', () => sendHead(res));
    return;
  }
  socket.setDefaultEncoding('latin1');
  res.flushHeaders();
  socket.setDefaultEncoding('utf8');
}
