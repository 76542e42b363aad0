import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** An operator's program waits for each answer; this is far more than any asks for ahead. */
const unansweredMax = 16;

/**
 * Cuts a connection that goes on asking while its answers wait. Node hands on all the requests of one read, a thousand perhaps, and
 * keeps each answer until the client takes it: forty such connections, without any token, would fill the memory of the process.
 */
export function boundPipelining(answer: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  return function answerFew(req, res) {
    const { socket } = req;
    if (socket.destroyed) return;
    const count = unanswered.get(socket) ?? 0;
    if (count === unansweredMax) {
      socket.destroy();
      return;
    }
    unanswered.set(socket, count + 1);
    res.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    answer(req, res);
  };
}
