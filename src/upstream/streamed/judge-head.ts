import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { errorOf } from '../failures.ts';
import { HeadReader } from '../head-reader.ts';
import { keptMsAfter } from '../read-answer-head.ts';

/**
 * Reads the head of the answer before Node does, by the rules of the other lane. Node repairs some heads and misreads others: if a tab
 * follows `chunked`, the client would get the sizes of chunks as content. And after a 204 or 304 whose headers speak of a body it keeps
 * the connection: what came of that would be taken for another client's answer.
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
