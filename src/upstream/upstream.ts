import type { ServerResponse } from 'node:http';
import type { Body } from '../bodies/body.ts';
import type { UpstreamConfig } from '../config/config.ts';
import { overloaded, Refusal } from '../refusals.ts';
import { valueOf } from '../wire/headers.ts';
import { safeMethods } from '../wire/safe-methods.ts';
import { RequestHead } from './buffered/request-head.ts';
import { type AnswerParts, ExchangeFailed, type Progress } from './exchange.ts';
import { ClientGone, failureKind, isShortage, LineTimeout, type FailureKind } from './failures.ts';
import type { Switching } from './streamed/streamed-exchange.ts';
import { createTargets, type Target, type TargetEvents, type TargetHealth } from './targets.ts';

/** A request as it leaves for an upstream; its headers are complete except for `Host`. */
interface OutgoingRequest extends AnswerParts {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Body;
  /** The client's own Host, for an upstream that wants it. */
  readonly host: string;
  /** Set when the client asked to switch protocols. */
  readonly switching: Switching | undefined;
}

export interface Upstream {
  readonly name: string;
  /** Sends the request and passes the answer on. Rejects with a Refusal (499 502 503 504) while the client has seen nothing. */
  send(request: OutgoingRequest, res: ServerResponse, progress: Progress): Promise<void>;
  /**
   * Resolves when a connection to one of the targets can be made, TLS included. If a shortage on this side kept it from trying, the
   * last result still holds, or the answer that a request has had since.
   */
  probe(): Promise<void>;
  /** What health checks last found of each target; nothing where there are none. */
  health(): readonly TargetHealth[];
  /** Checks no health and keeps no connections any more. Requests under way, or in line, go on to their end. */
  close(): void;
}

/** What an upstream reports while it is used. */
export interface UpstreamEvents extends TargetEvents {
  readonly countError: (upstream: string, kind: FailureKind | 'cut') => void;
}

/** With these a server may leave the body unread (RFC 9110 §9.3), and take it for the next request on the connection. */
const methodsWithoutBody = new Set([...safeMethods, 'DELETE']);

/**
 * With these a client signs in a connection, not a request: an upstream would take whoever comes next on it for that client (RFC 4559
 * §6, HAProxy #581).
 */
const signsInConnection = /(?:^|,) *(?:kerberos|negotiate|ntlm)\b/i;

/** A larger body is sent in pieces, so that the time for the answer starts when all of it has been taken. */
const wholeBytesMax = 64 * 1024;

export function createUpstream(config: UpstreamConfig, events: UpstreamEvents): Upstream {
  const targets = createTargets(config, events);
  let isReached = false;

  async function send(request: OutgoingRequest, res: ServerResponse, progress: Progress): Promise<void> {
    let unreached: Set<Target> | undefined;
    let alone = mayNotShare(request);
    for (;;) {
      const target = targets.next(unreached);
      try {
        await exchange(target, request, { res, progress, config, alone });
        if (progress.cut === 'upstream') events.countError(config.name, 'cut');
        else isReached = true;
        return;
      } catch (error) {
        if (!(error instanceof ExchangeFailed)) throw error;
        const { cause, inLine } = error;
        // Not the target's fault, and checked first: nobody waits for a second try, or the body is spoilt.
        if (cause instanceof ClientGone || cause instanceof Refusal) throw refusalOf(error);
        if (mayRepeat(error, request)) {
          alone = true; // on a connection that was not kept, so there is no third time
          continue;
        }
        if (!mayGoElsewhere(error, target)) throw refusalOf(error);
        // Another target may have a kept connection or free ports, so after a shortage it is tried as well.
        const isShort = isShortage(cause);
        unreached ??= new Set();
        if (!isShort) forgetInUse(unreached);
        // One that fell ill while it was waited for is still better than none.
        if (!inLine || target.isAway) unreached.add(target);
        const isToBlame = !inLine && !isShort;
        if (isToBlame) target.setAside(cause);
        if (unreached.size === targets.all.length) throw refusalOf(error);
        if (isToBlame) events.countError(config.name, failureKind(cause, false));
      }
    }
  }

  function refusalOf({ cause, sent }: ExchangeFailed): Refusal {
    if (cause instanceof Refusal) return cause;
    if (cause instanceof ClientGone) return new Refusal('client_gone');
    if (!sent && isShortage(cause)) return overloaded({ cause, fault: 'gateway' });
    const kind = failureKind(cause, sent);
    events.countError(config.name, kind);
    return new Refusal(`upstream_${kind}`, { cause });
  }

  async function probe(): Promise<void> {
    try {
      await Promise.any(targets.all.map(probeTarget));
      isReached = true;
    } catch (error) {
      isReached &&= error instanceof AggregateError && error.errors.some(isShortage);
      if (!isReached) throw error;
    }
  }

  return {
    name: config.name,
    send,
    probe,
    health: () => targets.health(),
    close: () => targets.close(),
  };
}

/** A kept connection was closed under a safe request, or before any of the request was sent. That says nothing against the target. */
function mayRepeat({ silent, sent }: ExchangeFailed, { method }: OutgoingRequest): boolean {
  return silent && (!sent || safeMethods.has(method));
}

/** Only if none of it was sent. One that merely waited for a connection stays here, as the other targets have none free either. */
function mayGoElsewhere({ sent, cause }: ExchangeFailed, target: Target): boolean {
  return !sent && (!(cause instanceof LineTimeout) || target.isAway);
}

/** A request may have waited long since it could not reach a target. One that has answered others meanwhile is tried again. */
function forgetInUse(unreached: Set<Target>): void {
  for (const target of unreached) if (!target.isAway) unreached.delete(target);
}

/** Whether its connection may serve nobody after it. */
function mayNotShare({ method, headers, body }: OutgoingRequest): boolean {
  if (body.length !== 0 && methodsWithoutBody.has(method)) return true;
  const authorization = valueOf(headers, 'authorization');
  return authorization !== undefined && signsInConnection.test(authorization);
}

interface TryParts {
  readonly res: ServerResponse;
  readonly progress: Progress;
  readonly config: UpstreamConfig;
  /** On a connection of its own. */
  readonly alone: boolean;
}

function exchange(
  target: Target,
  request: OutgoingRequest,
  { res, progress, config, alone }: TryParts,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) {
      reject(new ExchangeFailed(new ClientGone()));
      return;
    }
    const { method, path, headers, body, switching, ourHeaders, costHeader, whenWhole } = request;
    const host = config.preserveHost ? request.host : target.url.host;
    const listener = target.attempt({ resolve, reject });
    const parts = { ourHeaders, costHeader, whenWhole, progress, listener };
    if (body.kind === 'bytes' && body.length <= wholeBytesMax && switching === undefined) {
      const head = new RequestHead({ method, path, host, headers });
      target.buffered.send({ head, body: body.bytes, alone }, res, parts);
      return;
    }
    const withHost = ['host', host, ...headers];
    target.streamed.send({ method, path, headers: withHost, body, switching, alone }, res, parts);
  });
}

/** Connects as a request would, but sends none: a target whose certificate is not trusted counts as not reached. */
function probeTarget({ connect }: Target): Promise<void> {
  return new Promise((resolve, reject) => {
    connect((socket) => {
      socket.destroy();
      resolve();
    }, reject);
  });
}
