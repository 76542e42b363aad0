import type { Socket } from 'node:net';
import { errorOf } from '../failures.ts';
import { HeadReader } from '../head-reader.ts';

/**
 * Reads the head of the answer on a connection before Node does, by the same rules as the other lane. Node repairs some heads and
 * misreads others: if a tab follows `chunked`, the client would get the sizes of chunks as content.
 */
export function judgeHead(socket: Socket, refuse: (reason: Error) => void): void {
  const reader = new HeadReader();
  function read(bytes: Buffer): void {
    try {
      reader.read(bytes, 0);
      if (reader.head === undefined) return;
    } catch (error) {
      refuse(errorOf(error));
    }
    socket.off('data', read);
  }
  socket.prependListener('data', read);
}
