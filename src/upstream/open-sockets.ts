import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';

/** A client's socket that carries a WebSocket, or is about to. */
export interface OpenSocket {
  readonly socket: Socket;
  /** Undefined while it is still HTTP. */
  joined: Joined | undefined;
}

/** A client's socket that is joined to an upstream's. */
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
  readonly #byRoute = new Map<string, Set<OpenSocket>>();

  /**
   * Counts in the socket of a response; undefined if the route has as many as it may. It leaves when the response closes: one that
   * switches protocols closes with its socket, any other as soon as it is out, though its client may be read for a moment longer.
   */
  enter(route: string, socketsMax: number, res: ServerResponse): OpenSocket | undefined {
    const open = this.#byRoute.getOrInsertComputed(route, () => new Set());
    if (open.size >= socketsMax) return undefined;
    const entry: OpenSocket = { socket: res.req.socket, joined: undefined };
    open.add(entry);
    res.once('close', () => open.delete(entry));
    return entry;
  }

  /**
   * Closes each WebSocket when it falls quiet, and all that are left after `timeoutMs`. What is still HTTP is a request in
   * flight like any other, and is cut as those are.
   */
  drain(timeoutMs: number): void {
    const endAt = performance.now() + timeoutMs;
    const look = (): void => {
      const now = performance.now();
      for (const { socket, joined } of this.#all()) {
        if (joined === undefined) continue;
        if (now >= endAt) socket.destroy();
        else if (now - joined.activeAt >= quietMs) joined.close();
      }
      if (now >= endAt) clearInterval(timer);
    };
    const timer = setInterval(() => whenAllIsRead(look), lookEveryMs);
    timer.unref();
  }

  #all(): OpenSocket[] {
    return [...this.#byRoute.values()].flatMap((open) => [...open]);
  }
}
