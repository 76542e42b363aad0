import type { Socket } from 'node:net';

/**
 * A connection that was used before, at the moment it is given to a request. It may be closed already, and we may hear of that only
 * after some of the request has been written.
 */
export class KeptConnection {
  readonly #socket: Socket;
  readonly #read: number;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#read = socket.bytesRead;
  }

  /** Nothing has come on it since then. */
  get isSilent(): boolean {
    return this.#socket.bytesRead === this.#read;
  }
}
