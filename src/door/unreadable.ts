import type { Socket } from 'node:net';
import { Refusal, type RefusalCode, type Wording } from '../refusals.ts';
import { bareAnswer } from '../wire/bare-answer.ts';
import { breakBody } from '../wire/broken-body.ts';
import { peerOf } from '../wire/client-address.ts';
import { endReadably } from '../wire/linger.ts';
import { newRequestId } from '../wire/request-id.ts';
import type { Connections } from './connections.ts';

/** What is known of a request that never became one. */
export interface Unread {
  readonly requestId: string;
  readonly client: string;
  readonly status: number;
  readonly refusal: RefusalCode;
  readonly cause: unknown;
}

export interface UnreadableOptions {
  readonly connections: Connections;
  readonly wording: Wording;
  /** Told of each of them. */
  readonly onUnreadable: (unread: Unread) => void;
}

/** Answers what Node's parser cannot read, or what came too late for it. */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  options: UnreadableOptions,
): void {
  if (error.code !== overdue) return answerUnreadable(error, socket, options);
  const { connections } = options;
  const before = connections.of(socket)?.requests;
  connections.whenRead(socket, () => {
    if (connections.of(socket)?.requests === before) answerUnreadable(error, socket, options);
  });
}

const overdue = 'ERR_HTTP_REQUEST_TIMEOUT';

const parserCodes: Readonly<Record<string, RefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  [overdue]: 'request_timeout',
};

/** A connection is given up once: whatever its parser says of it afterwards is about the same broken bytes. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket, options: UnreadableOptions): void {
  const { connections, wording } = options;
  // A client that ends in the middle of a request is as gone as one that resets: it waits for no answer.
  if (error.code === 'HPE_INVALID_EOF_STATE') {
    socket.destroy();
    return;
  }
  const connection = connections.of(socket);
  if (connection?.giveUp() !== true) return;
  // Browsers and balancers open connections ahead of need. An answer to nothing could be taken for the next request's answer.
  const neverAsked = socket.bytesRead === 0;
  if (neverAsked || !socket.writable) {
    socket.destroy();
    return;
  }
  // A request has one answer and one line in the log, however late the rest of its body.
  if (connection.isAnswered) {
    endReadably(socket);
    return;
  }
  const code = parserCodes[error.code ?? ''] ?? 'request_malformed';
  const refusal = new Refusal(code, { cause: error });
  const { arriving } = connection;
  if (arriving !== undefined) {
    breakBody(arriving, refusal);
    return;
  }
  const requestId = report(refusal, socket, options);
  // Answers to earlier requests on this connection are still under way: this one would be taken for one of them.
  if (connection.isBusy) return;
  const { status, body } = wording(refusal);
  const headers = {
    'Cache-Control': 'no-store',
    'X-Gatehouse-Refusal': code,
    'X-Request-Id': requestId,
  };
  endReadably(socket, bareAnswer(status, headers, body));
}

/** Tells of a request that never became one. Returns its id. */
export function report(
  refusal: Refusal,
  socket: Socket,
  { wording, onUnreadable }: UnreadableOptions,
): string {
  const requestId = newRequestId();
  const client = peerOf(socket);
  const { status } = wording(refusal);
  onUnreadable({ requestId, client, status, refusal: refusal.code, cause: refusal.cause });
  return requestId;
}
