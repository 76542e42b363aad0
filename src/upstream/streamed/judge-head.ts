import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { errorOf } from '../failures.ts';
import { HeadReader } from '../head-reader.ts';
import { keptMsAfter } from '../read-answer-head.ts';

/**
 * Reads the head of the answer on a connection before Node does, by the same rules as the other lane. Node repairs some heads and
 * misreads others: if a tab follows `chunked`, the client would get the sizes of chunks as content. And it keeps the connection
 * after a 204 or 304 whose headers speak of a body: what came of that later would be taken for the answer to another client.
 */
export function judgeHead(outgoing: ClientRequest, socket: Socket, refuse: (reason: Error) => void): void {
  const reader = new HeadReader();
  function read(bytes: Buffer): void {
    try {
      reader.read(bytes);
      if (reader.head === undefined) return;
      if (keptMsAfter(reader.head, outgoing.method) === 0) outgoing.shouldKeepAlive = false;
    } catch (error) {
      refuse(errorOf(error));
    }
    socket.off('data', read);
  }
  socket.prependListener('data', read);
}
