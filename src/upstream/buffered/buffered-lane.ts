import type { ServerResponse } from 'node:http';
import type { UpstreamConfig } from '../../config/config.ts';
import { depart } from '../../waiting/departures.ts';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';
import type { Connector } from '../connect.ts';
import { type LaneParts, Relay } from '../relay.ts';
import type { Seats } from '../seats.ts';
import { IdleConnections } from './idle-connections.ts';
import { TargetConnection, type ConnectionHome, type WholeRequest } from './target-connection.ts';

/** The way to one target for bodies that are in memory. */
export interface BufferedLane {
  /** The listener is told how it ends, of an ExchangeFailed only while the client has seen nothing. */
  send(request: WholeRequest, res: ServerResponse, parts: LaneParts): void;
  close(): void;
}

export function createBufferedLane(
  connect: Connector,
  timeouts: UpstreamConfig['timeouts'],
  seats: Seats,
): BufferedLane {
  const bounds = { timeouts, seats };
  const idle = new IdleConnections();
  seats.watch(idle);

  const home: ConnectionHome = {
    answered(connection, relay, keptMs) {
      idle.keep(connection, keptMs);
      seats.leave(relay);
      relay.answerEnded();
    },
    closed(connection, relay, cause) {
      if (relay === undefined) idle.drop(connection);
      else fail(relay, cause);
    },
  };

  function begin(request: WholeRequest, relay: Relay): void {
    const { alone } = request;
    if (relay.isOver) return seats.leave(relay);
    const connection = alone ? undefined : idle.take();
    if (connection !== undefined) return connection.ask(request, relay);
    // The kept ones that are left have just been used: a turn from now one of them can be used again.
    if (!alone && idle.count > 0) return whenAllIsRead(() => begin(request, relay));
    seats.makeRoom();
    TargetConnection.open(
      connect,
      home,
      (made) => {
        if (!relay.isOver) return made.ask(request, relay);
        // It was given up while it waited for the connection, which others can use.
        idle.keep(made, undefined);
        seats.leave(relay);
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
      relay.takeSeat(() => depart(() => begin(request, relay)));
    },
    close: () => idle.close(),
  };
}
