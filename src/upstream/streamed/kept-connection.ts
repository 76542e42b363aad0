import type { Socket } from 'node:net';

/**
 * A connection that was used before, as it is given to a request. It may be closed already, and that may be heard of only
 * after some of the request was written.
 */
export class KeptConnection {
  readonly #socket: Socket;
  readonly #read: number;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#read = socket.bytesRead;
  }

  /** Nothing has come on it since. */
  get isSilent(): boolean {
    return this.#socket.bytesRead === this.#read;
  }
}
