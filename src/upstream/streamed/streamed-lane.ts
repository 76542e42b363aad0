import type { Agent, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UpstreamConfig } from '../../config/config.ts';
import { http } from '../../wire/http.ts';
import { tlsOptionsOf, type Trust } from '../connect.ts';
import { openByName } from '../look-up.ts';
import type { LaneParts } from '../relay.ts';
import { ageMsMax, idleMsMax, Seats } from '../seats.ts';
import { TlsSession } from '../tls-session.ts';
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
  const agent = createAgent(target, trust, true);
  // WebSockets last, so they have connections of their own and are bounded by their routes. Requests that are to be alone have
  // their own too.
  const freshAgent = createAgent(target, trust, false);
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

/** It bounds nothing and has no line: whoever asks it has a seat. */
function createAgent(target: URL, trust: Trust, keepAlive: boolean): Agent {
  const options = { keepAlive, maxFreeSockets: 32, timeout: idleMsMax };
  if (target.protocol === 'http:') return aging(thorough(forgetful(new http.Agent(options))));
  // Its own memory of sessions would keep one that a server leaves unanswered.
  const memory = { maxCachedSessions: 0 };
  const secure = new HttpsAgent({ ...options, ...memory, ...tlsOptionsOf(target, trust) });
  return aging(thorough(forgetful(resuming(secure))));
}

/** Makes a connection be closed, and not kept once more, when it has been for long enough. */
function aging(agent: Agent): Agent {
  const madeAt = new WeakMap<Duplex, number>();
  const connect = agent.createConnection.bind(agent);
  const keep = agent.keepSocketAlive.bind(agent);
  return Object.assign(agent, {
    createConnection(...details: Parameters<typeof connect>) {
      const connection = connect(...details) as Socket;
      madeAt.set(connection, performance.now());
      return connection;
    },
    keepSocketAlive(connection: Duplex) {
      const age = performance.now() - (madeAt.get(connection) ?? 0);
      return age < ageMsMax && keep(connection);
    },
  });
}

/** Makes an answer be read that came before its connection was closed. */
function thorough(agent: Agent): Agent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const connection = connect(options, callback) as Socket;
    readToTheEnd(connection);
    return connection;
  };
  return agent;
}

/** Makes the resolver hold nothing of a request that was given up, and a kept connection nothing of the request it was opened for. */
function forgetful(agent: Agent): Agent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    // Node keeps this very object for as long as the connection: up to 16 KB, with the credentials of the first request.
    Reflect.deleteProperty(options, 'headers');
    return openByName((lookup) => connect({ ...options, lookup }, callback) as Duplex);
  };
  return agent;
}

/** Makes each connection offer the TLS session of the last. */
function resuming(agent: HttpsAgent): HttpsAgent {
  const connect = agent.createConnection.bind(agent);
  const session = new TlsSession();
  agent.createConnection = (options, callback) => {
    const connection = connect({ ...options, ...session.offer }, callback) as TLSSocket;
    session.follow(connection);
    return connection;
  };
  return agent;
}
