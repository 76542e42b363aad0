import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { codeOf } from '../content/error-code.ts';
import { bareAnswer } from '../wire/bare-answer.ts';
import { endReadably } from '../wire/linger.ts';
import { parseWhileOpen } from '../wire/parse-while-open.ts';
import { AdminProblem, onlyRead } from './problem.ts';
import { commonHeaders } from './send-answer.ts';

/** Callers need the open files too. */
const connectionsMax = 64;

/** An operator's program waits for each answer; this is far more than any asks for ahead. */
const unansweredMax = 16;

/** What was asked on a connection so far, by the answers to it. */
interface Conversation {
  readonly unanswered: Set<ServerResponse>;
  /** The answer to the latest request. It stays here once it is sent, as more of that request may still come. */
  latest: ServerResponse | undefined;
}

/**
 * Leads the requests of a server to the listener, and bounds what clients may take before they have shown a token: Node bounds
 * neither connections nor what is asked ahead on one.
 */
export function leadRequests(server: Server, listener: RequestListener): { readonly endAll: () => void } {
  /** One for each open connection. That of the connection used last is at the end. */
  const conversations = new Map<Socket, Conversation>();

  /**
   * One for which nothing is done: what it may yet send or read is no reason to turn a new one away, perhaps a probe. First one that
   * asks for nothing, then one whose request has not come yet. Of those the youngest: an import may have been coming for a while.
   */
  function findSpare(): Socket | undefined {
    let unread: Socket | undefined;
    for (const [socket, { unanswered }] of conversations) {
      const awaited = [...unanswered].filter(({ headersSent }) => !headersSent);
      if (awaited.length === 0) return socket;
      if (awaited.every(({ req }) => !req.complete)) unread = socket;
    }
    return unread;
  }

  function end(socket: Socket): void {
    conversations.delete(socket);
    socket.destroy();
  }

  function take(socket: Socket): void {
    if (conversations.size >= connectionsMax) end(findSpare() ?? socket);
    if (socket.destroyed) return;
    parseWhileOpen(socket);
    conversations.set(socket, { unanswered: new Set(), latest: undefined });
    socket.once('close', () => conversations.delete(socket));
  }

  /** Node keeps each answer until the client takes it. */
  const answer: RequestListener = (req, res) => {
    const { socket } = req;
    const conversation = conversations.get(socket);
    if (conversation === undefined) return;
    if (conversation.unanswered.size === unansweredMax) return end(socket);
    conversation.unanswered.add(res);
    conversation.latest = res;
    res.once('close', () => {
      conversation.unanswered.delete(res);
      if (conversations.delete(socket)) conversations.set(socket, conversation);
    });
    listener(req, res);
  };

  server.on('connection', take);
  server.on('clientError', (error: Error, socket: Socket) => {
    const conversation = conversations.get(socket);
    if (conversation !== undefined) answerUnreadable(error, socket, conversation);
  });
  server.on('request', answer);
  // Node hands its socket over bare.
  server.on('connect', ({ socket }: IncomingMessage) => {
    socket.on('error', () => socket.destroy());
    const conversation = conversations.get(socket);
    if (conversation !== undefined) answerBare(onlyRead(), socket, conversation);
  });
  // "100 Continue" is sent by the code that reads the body.
  server.on('checkContinue', answer);
  // Node would refuse any other expectation in its own way, before a token was checked. It may be ignored (RFC 9110, §10.1.1).
  server.on('checkExpectation', answer);
  return {
    /** Those too that Node no longer counts, after a CONNECT. */
    endAll(): void {
      for (const socket of conversations.keys()) socket.destroy();
    },
  };
}

const sentences: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive',
};

/** Answers what Node's parser cannot read like all else that is refused: by itself it would send no body. */
export function answerUnreadable(error: Error, socket: Socket, conversation: Conversation): void {
  const sentence = sentences[codeOf(error) ?? ''] ?? 'The request cannot be read';
  answerBare(new AdminProblem('malformed', sentence), socket, conversation);
}

/** Ends a connection with this answer, where a client would take it for that to its last request. */
function answerBare(
  { status, headers, body }: AdminProblem,
  socket: Socket,
  { unanswered, latest }: Conversation,
): void {
  // On a connection that was only opened an answer could be taken for that to the first request.
  const isAsked = socket.bytesRead > 0;
  // An earlier answer is still to come, or that to this very request has begun: this one would be taken for another.
  const isNext =
    latest?.req.complete === false ? unanswered.size === 1 && !latest.headersSent : unanswered.size === 0;
  if (!isAsked || !isNext || !socket.writable) {
    socket.destroy();
    return;
  }
  endReadably(socket, bareAnswer(status, { ...commonHeaders, ...headers }, JSON.stringify(body)));
}
