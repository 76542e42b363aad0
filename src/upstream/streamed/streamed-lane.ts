import type { Agent, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { UpstreamConfig } from '../../config/config.ts';
import { http } from '../../wire/http.ts';
import { createOpener, type Opener, probeAfterMs, type Trust } from '../connect.ts';
import type { LaneParts } from '../relay.ts';
import { chooseAgeMsMax, idleMsMax, Seats } from '../seats.ts';
import { openRequest } from './open-request.ts';
import { readToTheEnd } from './read-to-the-end.ts';
import { StreamedExchange, type StreamedRequest } from './streamed-exchange.ts';

/** The way to one target for bodies that are not in memory, and for WebSockets. */
export interface StreamedLane {
  /** The listener is told how it ends, of an ExchangeFailed only while the client has seen nothing. */
  send(request: StreamedRequest, res: ServerResponse, parts: LaneParts): void;
  close(): void;
}

export function createStreamedLane(
  target: URL,
  { timeouts }: Pick<UpstreamConfig, 'timeouts'>,
  { seats, trust }: { readonly seats: Seats; readonly trust: Trust },
): StreamedLane {
  const open = createOpener(target, trust);
  const agent = createAgent(target, open, true);
  // WebSockets last, so they have connections of their own and are bounded by their routes. Requests that are to be alone have
  // their own too.
  const freshAgent = createAgent(target, open, false);
  const bounded = { timeouts, seats };
  const unbounded = { timeouts, seats: new Seats(Infinity) };
  seats.watch({
    get count() {
      return keptBy(agent).length;
    },
    closeOne: () => keptBy(agent)[0]?.destroy(),
  });
  return {
    send(request, res, parts) {
      const switches = request.switching !== undefined;
      const through = switches || request.alone ? freshAgent : agent;
      const bounds = switches ? unbounded : bounded;
      const exchange = new StreamedExchange(request, res, { parts, bounds });
      exchange.begin((onError) => {
        if (keptBy(through).length === 0) bounds.seats.makeRoom();
        return openRequest({ ...request, target, agent: through, onError });
      });
    },
    close() {
      agent.maxFreeSockets = 0;
      for (const socket of keptBy(agent)) socket.destroy();
    },
  };
}

function keptBy({ freeSockets }: Agent): readonly Socket[] {
  return Object.values(freeSockets)
    .flatMap((sockets) => sockets ?? [])
    .filter((socket) => !socket.destroyed);
}

/**
 * It needs no bound and no line, because whoever asks it has a seat. Each of its connections is read to its end, holds nothing of the
 * request that it was opened for, and is closed after an answer, instead of being kept once more, when it has become too old.
 */
function createAgent({ protocol }: URL, open: Opener, keepAlive: boolean): Agent {
  const options = {
    keepAlive,
    // The agent sets this anew on each connection that it keeps. Its own default would have the kernel ask each second.
    keepAliveMsecs: probeAfterMs,
    maxFreeSockets: 32,
    timeout: idleMsMax,
    // By default it is the name in each request's Host, and a kept connection would serve only requests with the same Host.
    servername: '',
  };
  const agent = protocol === 'https:' ? new HttpsAgent(options) : new http.Agent(options);
  const keep = agent.keepSocketAlive.bind(agent);
  const keptUntil = new WeakMap<Duplex, number>();
  agent.createConnection = (details) => {
    // Node keeps this very object for as long as the connection: up to 16 KB, with the credentials of the first request.
    Reflect.deleteProperty(details, 'headers');
    const connection = open();
    readToTheEnd(connection);
    keptUntil.set(connection, performance.now() + chooseAgeMsMax());
    return connection;
  };
  agent.keepSocketAlive = (connection) => {
    const isYoung = performance.now() < (keptUntil.get(connection) ?? 0);
    return isYoung && keep(connection);
  };
  return agent;
}
