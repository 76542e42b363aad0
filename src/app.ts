import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Travel } from './journey.ts';
import { catalogue } from './refusals.ts';
import { createAccessLog, type AccessLog, type Withhold } from './telemetry/access-log.ts';
import type { Logger } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { noteLeaving, statusOf, Visit, type Origin } from './visit.ts';
import { breakOff } from './wire/break-off.ts';
import type { FindOrigin } from './wire/client-address.ts';
import { createRequestClass } from './wire/gathering-request.ts';
import { http } from './wire/http.ts';
import { newRequestId } from './wire/request-id.ts';

interface AppParts {
  readonly travel: Travel;
  readonly findOrigin: FindOrigin;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Removes keys that a client has put in the wrong place by mistake. */
  readonly withhold: Withhold;
}

export interface App {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** What the server makes its requests and responses with. The handler takes no other requests. */
  readonly messageClasses: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;
}

/**
 * The Express shell around the journey: every request is given a visit, is logged and counted once when it is over,
 * and travels. It never listens.
 */
export function createApp({ travel, findOrigin, logger, metrics, withhold }: AppParts): App {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('env', 'production'); // in any other, Express shows its errors to clients, stack and all

  const accessLog = createAccessLog(logger, withhold);

  // All requests go one way, so there is nothing to route. Express's own router makes closures for each request and layer: 6 % of
  // the CPU of a name call, and 2.8 of the 22 KB that it allocates.
  Object.defineProperty(app, 'router', { value: { handle: receive } });

  function receive(req: IncomingMessage, res: ServerResponse): void {
    try {
      openVisit(req, res);
      accessLog.listen(req, res);
      travel(req, res).catch((fault: unknown) => endFault(fault, req, res));
    } catch (fault) {
      endFault(fault, req, res);
    }
  }

  function openVisit(req: IncomingMessage, res: ServerResponse): void {
    const origin = findOrigin(req);
    const visit = new Visit(requestId(req, origin, withhold), origin);
    req.visit = visit;
    // Not `once`: its wrapper lives as long as the request does, and the collector moves it along (record 32).
    res.on('close', () => {
      noteLeaving(visit, res);
      metrics.countRequest(visit, statusOf(visit, res));
    });
  }

  function handle(req: IncomingMessage, res: ServerResponse): void {
    app(req as Request, res as Response, neverReached);
  }
  return { handle, messageClasses: messageClassesFor(app, accessLog.shared) };
}

/**
 * Express gives each request and response a prototype of its own, after which V8 has to learn their shape again. Those made with it
 * from the start stay as they are, which saves some 4 µs of a request. What Express and pino-http would add to each of them, and
 * nobody reads, is on the prototypes.
 */
function messageClassesFor(app: Express, shared: AccessLog['shared']): App['messageClasses'] {
  const AppRequest = createRequestClass();
  class AppResponse<R extends IncomingMessage> extends http.ServerResponse<R> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(AppRequest.prototype, shared);
  Object.assign(AppResponse.prototype, shared, { locals: Object.freeze(Object.create(null)) });
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/**
 * The journey answers refusals itself. If even that fails, the connection is broken off. This must not throw: nobody would catch it,
 * and one request would end the process.
 */
function endFault(fault: unknown, req: IncomingMessage, res: ServerResponse): void {
  res.statusCode = catalogue.internal.status;
  try {
    breakOff(res);
  } catch {
    req.socket.destroy();
  }
  const visit: Visit | undefined = req.visit; // or it failed before there was one
  if (visit === undefined) return;
  visit.refusal = 'internal';
  visit.cause = fault;
}

/** Never called; without it Express would make a function of its own for each request. */
function neverReached(): void {}

const wellFormedId = /^[\w.:-]{8,128}$/;

/** A request keeps the id that a trusted proxy gave it, unless it is a key; from anyone else it gets a new one. */
function requestId(req: IncomingMessage, origin: Origin, withhold: Withhold): string {
  const given = origin.trusted ? req.headers['x-request-id'] : undefined;
  if (typeof given !== 'string' || !wellFormedId.test(given) || withhold(given) !== given)
    return newRequestId();
  return given;
}
