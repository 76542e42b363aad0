import type { ServerResponse } from 'node:http';
import type { UpstreamConfig } from '../config/config.ts';
import { type BufferedLane, createBufferedLane } from './buffered/buffered-lane.ts';
import { type Connector, createConnector, createTrust, type Trust } from './connect.ts';
import type { Body } from '../bodies/body.ts';
import { ClientGone, failureKind, refuse, type FailureKind } from './failures.ts';
import { ExchangeFailed, type Outcome, type Progress } from './exchange.ts';
import type { Switching } from './streamed/streamed-exchange.ts';
import { RequestHead } from './buffered/request-head.ts';
import { Seats } from './seats.ts';
import { createStreamedLane, type StreamedLane } from './streamed/streamed-lane.ts';
import { Refusal } from '../refusals.ts';
import { safeMethods } from '../wire/safe-methods.ts';

/** A request as it leaves for an upstream; its headers are finished but for `Host`. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Body;
  /** The client's own Host, for an upstream that wants it. */
  readonly host: string;
  /** The gateway's own headers for the answer. It is asked for them when that is there. */
  readonly answerHeaders: () => readonly string[];
  /** Folded name of the header that is read and taken out of the answer. */
  readonly costHeader: string | undefined;
  /** Set when the client asked to switch protocols. */
  readonly switching: Switching | undefined;
}

export interface Upstream {
  readonly name: string;
  /**
   * Sends the request and passes the answer on. Rejects with a Refusal (499 502 504) as long as the client has seen nothing.
   */
  send(request: OutgoingRequest, res: ServerResponse, progress: Progress): Promise<Outcome>;
  /** Resolves when a connection to one of the targets can be made, TLS included. */
  probe(): Promise<void>;
  close(): void;
}

/** What an upstream tells of itself while it is used. */
export interface UpstreamEvents {
  readonly countError: (upstream: string, kind: FailureKind | 'cut') => void;
  /** A target could not be reached. Told once, until it is used again. */
  readonly setAside: (upstream: string, target: string, cause: Error) => void;
  /** A target that was set aside gave an answer. */
  readonly usedAgain: (upstream: string, target: string) => void;
}

interface Target {
  readonly url: URL;
  readonly connect: Connector;
  /** Of both ways to it. */
  readonly seats: Seats;
  readonly buffered: BufferedLane;
  readonly streamed: StreamedLane;
  /** Left aside until then, because it could not be reached. */
  asideUntil: number;
  /** From the first failure to the next answer. */
  isAway: boolean;
}

const asideMs = 2000;

/** A server may leave a body with these unread (RFC 9110 §9.3), and take it for the next request on the connection. */
const methodsWithoutBody = new Set([...safeMethods, 'DELETE']);

/** A larger body is sent in pieces, so that the time for the answer starts when all of it has been taken. */
const wholeBytesMax = 64 * 1024;

export function createUpstream(config: UpstreamConfig, events: UpstreamEvents): Upstream {
  const trust = createTrust(config.ca);
  const targets = config.targets.map((origin) => createTarget(origin, config, trust));
  let turn = 0;

  /** None that was not reached already, as long as there are others. */
  function nextTarget(now: number, unreached: ReadonlySet<Target>): Target {
    turn = (turn + 1) % targets.length;
    const inTurn = [...targets.slice(turn), ...targets.slice(0, turn)].filter((one) => !unreached.has(one));
    const ready = inTurn.filter((target) => target.asideUntil <= now);
    if (ready.length > 0)
      return ready.reduce((best, one) => (one.seats.ahead < best.seats.ahead ? one : best));
    return inTurn.toSorted((a, b) => a.asideUntil - b.asideUntil)[0] as Target;
  }

  function setAside(target: Target, cause: Error): void {
    target.asideUntil = performance.now() + asideMs;
    // Another target may have them at once.
    if (targets.length > 1) target.seats.turnAway(cause);
    if (target.isAway) return;
    target.isAway = true;
    events.setAside(config.name, target.url.origin, cause);
  }

  function noteAnswer(target: Target): void {
    if (!target.isAway) return;
    target.isAway = false;
    events.usedAgain(config.name, target.url.origin);
  }

  async function send(request: OutgoingRequest, res: ServerResponse, progress: Progress): Promise<Outcome> {
    let failure: ExchangeFailed | undefined;
    const unreached = new Set<Target>();
    let repeats = false;
    while (unreached.size < targets.length) {
      const target = targets.length === 1 ? (targets[0] as Target) : nextTarget(performance.now(), unreached);
      try {
        const outcome = await exchange(target, request, { res, progress, config, repeats });
        if (outcome.cut === 'upstream') events.countError(config.name, 'cut');
        noteAnswer(target);
        return outcome;
      } catch (error) {
        if (!(error instanceof ExchangeFailed)) throw error;
        failure = error;
        if (error.cause instanceof ClientGone || error.cause instanceof Refusal) break;
        // All its connections are in use, as those of the others were.
        if (error.waited && !target.isAway) break;
        if (!repeats && mayRepeat(error, request)) {
          repeats = true;
          continue;
        }
        if (error.sent) break;
        unreached.add(target);
        if (error.inLine) continue;
        setAside(target, error.cause);
        // The last is counted as what the caller is told.
        if (unreached.size < targets.length) events.countError(config.name, failureKind(error.cause, false));
      }
    }
    const cause = failure?.cause ?? new ClientGone();
    if (cause instanceof Refusal) throw cause;
    if (cause instanceof ClientGone) throw new Refusal('client_gone');
    const kind = failureKind(cause, failure?.sent ?? false);
    events.countError(config.name, kind);
    throw refuse(kind, cause);
  }

  return {
    name: config.name,
    send,
    probe: async () => {
      await Promise.any(targets.map(probeTarget));
    },
    close: () => {
      for (const { buffered, streamed } of targets) {
        buffered.close();
        streamed.close();
      }
    },
  };
}

/** A kept connection was closed under a request that is safe, or before anything of it was sent. That is no word against the target. */
function mayRepeat({ silent, sent }: ExchangeFailed, { method, switching }: OutgoingRequest): boolean {
  if (!silent || !sent) return silent;
  return safeMethods.has(method) && switching === undefined;
}

function createTarget(origin: string, config: UpstreamConfig, trust: Trust): Target {
  const url = new URL(origin);
  const connect = createConnector(url, config.timeouts.connectMs, trust);
  const seats = new Seats(config.connections);
  return {
    url,
    connect,
    seats,
    buffered: createBufferedLane(connect, config.timeouts, seats),
    streamed: createStreamedLane(url, config, { seats, trust }),
    asideUntil: 0,
    isAway: false,
  };
}

interface ExchangeParts {
  readonly res: ServerResponse;
  readonly progress: Progress;
  readonly config: UpstreamConfig;
  /** A kept connection failed it before. */
  readonly repeats: boolean;
}

function exchange(
  target: Target,
  request: OutgoingRequest,
  { res, progress, config, repeats }: ExchangeParts,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) {
      reject(new ExchangeFailed(new ClientGone()));
      return;
    }
    const { method, target: path, headers, body, switching, answerHeaders: own, costHeader } = request;
    const host = config.preserveHost ? request.host : target.url.host;
    const parts = { own, costHeader, progress, settle: { resolve, reject } };
    const alone = repeats || (hasBytes(body) && methodsWithoutBody.has(method));
    if (body.kind === 'bytes' && body.bytes.length <= wholeBytesMax && switching === undefined) {
      const head = new RequestHead({ method, path, host, headers });
      target.buffered.send({ head, body: body.bytes, alone }, res, parts);
      return;
    }
    const withHost = ['host', host, ...headers];
    target.streamed.send({ method, path, headers: withHost, body, switching, alone }, res, parts);
  });
}

function hasBytes(body: Body): boolean {
  return body.kind === 'stream' ? body.length !== 0 : body.bytes.length > 0;
}

/** Connects as for a request, and sends none: a target whose certificate is not trusted is not reached. */
function probeTarget({ connect }: Target): Promise<void> {
  return new Promise((resolve, reject) => {
    connect((socket) => {
      socket.destroy();
      resolve();
    }, reject);
  });
}
