import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { codeOf } from '../content/error-code.ts';
import { bareAnswer } from '../wire/bare-answer.ts';
import { endReadably } from '../wire/linger.ts';
import { AdminProblem } from './problem.ts';
import { commonHeaders } from './send-answer.ts';

const sentences: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive',
};

/** What was asked on a connection so far, by the answers to it. */
export interface Conversation {
  readonly unanswered: Set<ServerResponse>;
  /** The one to the latest request, also once it is sent: of the request more may be still to come. */
  latest: ServerResponse | undefined;
}

/** Answers what Node's parser cannot read like all else that is refused: by itself it would send no body. */
export function answerUnreadable(error: Error, socket: Socket, { unanswered, latest }: Conversation): void {
  const code = codeOf(error) ?? '';
  // On a connection that was only opened an answer could be taken for that to the first request.
  const isAsked = socket.bytesRead > 0;
  // An earlier answer is still to come, or that to this very request has begun: this one would be taken for another.
  const isNext =
    latest?.req.complete === false ? unanswered.size === 1 && !latest.headersSent : unanswered.size === 0;
  if (!isAsked || !isNext || !socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, body } = new AdminProblem('malformed', sentences[code] ?? 'The request cannot be read');
  endReadably(socket, bareAnswer(status, commonHeaders, JSON.stringify(body)));
}
