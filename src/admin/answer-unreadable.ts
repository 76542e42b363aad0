import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { codeOf } from '../content/error-code.ts';
import { endReadably } from '../wire/linger.ts';
import { AdminProblem } from './problem.ts';
import { commonHeaders } from './send-answer.ts';

const overdue = 'ERR_HTTP_REQUEST_TIMEOUT';

const sentences: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large',
  [overdue]: 'The request took too long to arrive',
};

/** Answers what Node's parser cannot read like all else that is refused: by itself it would send no body. */
export function answerUnreadable(error: Error, socket: Socket, unanswered: Iterable<ServerResponse>): void {
  const code = codeOf(error) ?? '';
  // On a connection that was only opened an answer could be taken for that to the first request.
  const isAsked = code !== overdue || socket.bytesRead > 0;
  // The answer to an earlier request is still to come, or has begun: this one would be taken for it.
  const isNext = [...unanswered].every(
    ({ req, headersSent }, at) => at === 0 && !req.complete && !headersSent,
  );
  if (!isAsked || !isNext || !socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, body } = new AdminProblem('malformed', sentences[code] ?? 'The request cannot be read');
  const text = JSON.stringify(body);
  const headers = {
    ...commonHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  endReadably(socket, [`HTTP/1.1 ${status} Bad Request`, ...lines, '', text].join('\r\n'));
}
