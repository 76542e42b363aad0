import type { TLSSocket } from 'node:tls';

/** The session that connections to one target offer, so that the next handshake is shorter. */
export class TlsSession {
  #last: Buffer | undefined;

  /** For the options of the next connection. */
  get offer(): { readonly session?: Buffer } {
    return this.#last === undefined ? {} : { session: this.#last };
  }

  /**
   * Keeps the session of this connection for the next. One with which no connection came about is forgotten, whatever became of it:
   * a server that refuses a session, or leaves it unanswered, would do so each time.
   */
  follow(connection: TLSSocket): void {
    connection
      .on('session', (session: Buffer) => (this.#last = session))
      .once('close', () => {
        if (!connection.authorized) this.#last = undefined;
      });
  }
}
