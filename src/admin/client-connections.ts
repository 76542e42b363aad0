import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answerUnreadable } from './answer-unreadable.ts';

/** Callers need the open files too. */
const connectionsMax = 64;

/** An operator's program waits for each answer; this is far more than any asks for ahead. */
const unansweredMax = 16;

/**
 * Leads the requests of a server to the listener, and bounds what clients may take before they have shown a token: Node bounds
 * neither connections nor what is asked ahead on one.
 */
export function leadRequests(server: Server, listener: RequestListener): void {
  /** The answers that each open connection waits for. The one that was used last is at the end. */
  const unanswered = new Map<Socket, Set<ServerResponse>>();
  const latest = new WeakMap<Socket, ServerResponse>();

  /** One for which nothing is done: what it may yet send or read is no reason to turn a new one away, perhaps a probe. */
  function findSpare(): Socket | undefined {
    for (const [socket, answers] of unanswered) {
      if (answers.values().every(({ headersSent }) => headersSent)) return socket;
    }
    return undefined;
  }

  function end(socket: Socket): void {
    unanswered.delete(socket);
    socket.destroy();
  }

  function take(socket: Socket): void {
    if (unanswered.size >= connectionsMax) end(findSpare() ?? socket);
    if (socket.destroyed) return;
    unanswered.set(socket, new Set());
    socket.once('close', () => unanswered.delete(socket));
  }

  /** Node hands on all the requests of one read, a thousand perhaps, and keeps each answer until the client takes it. */
  const answer: RequestListener = (req, res) => {
    const { socket } = req;
    const answers = unanswered.get(socket);
    if (answers === undefined) return;
    if (answers.size === unansweredMax) return end(socket);
    answers.add(res);
    latest.set(socket, res);
    res.once('close', () => {
      answers.delete(res);
      if (unanswered.delete(socket)) unanswered.set(socket, answers);
    });
    listener(req, res);
  };

  server.on('connection', take);
  server.on('clientError', (error: Error, socket: Socket) => {
    const asked = { unanswered: unanswered.get(socket) ?? new Set(), latest: latest.get(socket) };
    answerUnreadable(error, socket, asked);
  });
  server.on('request', answer);
  // "100 Continue" is sent by the code that reads the body.
  server.on('checkContinue', answer);
  // Node would refuse any other expectation in its own way, before a token was checked. It may be ignored (RFC 9110, §10.1.1).
  server.on('checkExpectation', answer);
}
