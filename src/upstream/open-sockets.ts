import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';

/** A client's socket that carries a WebSocket, or is about to. */
export interface OpenSocket {
  readonly socket: Socket;
  /** Undefined while it is still HTTP. */
  joined: Joined | undefined;
}

export interface Joined {
  /** When a byte last went through, either way. */
  activeAt: number;
  /** Closes both, after what has been said to the client. */
  readonly close: () => void;
}

/** While the gateway stops, a socket that has been silent this long is between two messages and can be closed. */
const quietMs = 1000;
const lookEveryMs = 100;

/** The sockets of all WebSockets: the server no longer knows them, so they are counted and closed here. */
export class OpenSockets {
  readonly #byPath = new Map<string, Set<OpenSocket>>();

  /**
   * Counts in the socket of a response; undefined if the route of this path, whatever its name, has as many as it may. It counts until
   * the response closes: one that switches protocols closes with its socket, any other as soon as it is out, though its client may be
   * read for a moment longer.
   */
  enter(path: string, socketsMax: number, res: ServerResponse): OpenSocket | undefined {
    const open = this.#byPath.getOrInsertComputed(path, () => new Set());
    if (open.size >= socketsMax) return undefined;
    const entry: OpenSocket = { socket: res.req.socket, joined: undefined };
    open.add(entry);
    res.once('close', () => open.delete(entry));
    return entry;
  }

  /**
   * Closes each WebSocket when it falls quiet. One that never does is cut in the end like any connection, and so is one that is
   * still HTTP.
   */
  drain(): void {
    const look = (): void => {
      const now = performance.now();
      for (const open of this.#byPath.values())
        for (const { joined } of open)
          if (joined !== undefined && now - joined.activeAt >= quietMs) joined.close();
    };
    setInterval(() => whenAllIsRead(look), lookEveryMs).unref();
  }
}
