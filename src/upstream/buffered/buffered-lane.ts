import type { ServerResponse } from 'node:http';
import type { UpstreamConfig } from '../../config/config.ts';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';
import type { Connector } from '../connect.ts';
import { ClientGone } from '../failures.ts';
import { type LaneBounds, type LaneParts, Relay } from '../relay.ts';
import { idleMsMax, type Seats } from '../seats.ts';
import { TargetConnection, type ConnectionHome, type WholeRequest } from './target-connection.ts';

/** The way to one target for bodies that are in memory. */
export interface BufferedLane {
  /** Settles as the relay does: rejects with ExchangeFailed while the client has seen nothing. */
  send(request: WholeRequest, res: ServerResponse, parts: LaneParts): void;
  close(): void;
}

export function createBufferedLane(
  connect: Connector,
  timeouts: UpstreamConfig['timeouts'],
  seats: Seats,
): BufferedLane {
  const bounds: LaneBounds = { timeouts, seats };
  /** The one used last is at the end, and is used first, so that those not needed grow old. */
  const idle: TargetConnection[] = [];
  let isClosed = false;
  let sweep: NodeJS.Timeout | undefined;

  seats.watch({
    get count() {
      return idle.length;
    },
    closeOne: () => idle[0]?.close(),
  });

  function keep(connection: TargetConnection, keptMs: number): void {
    connection.rest(keptMs);
    idle.push(connection);
    sweep ??= setTimeout(closeOld, sweepEveryMs).unref();
  }

  function closeOld(): void {
    sweep = undefined;
    const now = performance.now();
    for (const connection of idle.filter((one) => one.isSpent(now))) connection.close();
    if (idle.length > 0) sweep = setTimeout(closeOld, sweepEveryMs).unref();
  }

  /** A connection that can be used again; spent ones are closed on the way. */
  function takeIdle(): TargetConnection | undefined {
    const now = performance.now();
    for (let place = idle.length - 1; place >= 0; place -= 1) {
      const connection = idle[place] as TargetConnection;
      if (!connection.hasRested) continue;
      idle.splice(place, 1);
      if (!connection.isSpent(now)) return connection;
      connection.close();
    }
    return undefined;
  }

  const kept: ConnectionHome = {
    answered(connection, relay, said) {
      const keptMs = said === undefined ? idleMsMax : Math.min(said - hurryMs, saidMsMax);
      if (keptMs > 0 && !isClosed) keep(connection, keptMs);
      else connection.close();
      seats.leave(relay);
      relay.answerEnded();
    },
    closed(connection, relay, cause) {
      const place = relay === undefined ? idle.indexOf(connection) : -1;
      if (place !== -1) idle.splice(place, 1);
      if (relay !== undefined) fail(relay, cause);
    },
  };
  /** Owns the connections that serve one request each. */
  const fresh: ConnectionHome = {
    ...kept,
    answered: (connection, relay) => kept.answered(connection, relay, 0),
  };

  function begin(request: WholeRequest, relay: Relay): void {
    const { alone } = request;
    if (relay.isOver) return seats.leave(relay);
    const connection = alone ? undefined : takeIdle();
    if (connection !== undefined) return connection.ask(request, relay);
    // The kept ones that are left have just been used: a turn from now one of them can be used again.
    if (!alone && idle.length > 0) return whenAllIsRead(() => begin(request, relay));
    seats.makeRoom();
    relay.startClock();
    TargetConnection.open(
      connect,
      alone ? fresh : kept,
      (made) => {
        if (!relay.isOver) return made.ask(request, relay);
        // It was given up while it waited for the connection, which others can use.
        if (alone || isClosed) made.close();
        else keep(made, idleMsMax);
        fail(relay, new ClientGone());
      },
      (error) => fail(relay, error),
    );
  }

  function fail(relay: Relay, cause: Error): void {
    seats.leave(relay);
    relay.answerFailed(cause);
  }

  return {
    send(request, res, parts) {
      const relay = new Relay(res, parts, bounds);
      seats.take(relay, () => whenAllIsRead(() => begin(request, relay)));
      if (relay.seat === undefined) relay.startClock();
    },
    close() {
      isClosed = true;
      clearTimeout(sweep);
      for (const connection of idle.splice(0)) connection.close();
    },
  };
}

/** If a server says how long it keeps a connection, we use it for this much less, and never longer than `saidMsMax`. */
const hurryMs = 2000;
const saidMsMax = 600_000;
const sweepEveryMs = 1000;
