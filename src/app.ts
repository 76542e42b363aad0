import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Answerer } from './answer.ts';
import type { FindOrigin, Origin } from './client-address.ts';
import type { Travel } from './journey.ts';
import { createAccessLog, type Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import { noteLeaving, statusOf, Visit } from './visit.ts';

export interface AppParts {
  readonly travel: Travel;
  readonly answer: Answerer;
  readonly findOrigin: FindOrigin;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The Express shell around the journey: every request is given a visit, is logged and counted once when it is over,
 * travels, and is answered by the one answerer if a stage refuses it. It never listens.
 */
export function createApp({ travel, answer, findOrigin, logger, metrics }: AppParts) {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');

  app.use(function openVisit(req: Request, res: Response, next: NextFunction) {
    const origin = findOrigin(req);
    const visit = new Visit(requestId(req, origin), origin);
    req.visit = visit;
    metrics.inFlight.inc();
    res.once('close', () => {
      noteLeaving(visit, res);
      metrics.inFlight.dec();
      metrics.observe(visit, statusOf(visit, res));
    });
    next();
  });
  app.use(createAccessLog(logger));
  app.use(travel);
  app.use(function answerRefusal(error: unknown, req: Request, res: Response, _next: NextFunction) {
    answer(req, res, error);
  });

  return function handle(req: IncomingMessage, res: ServerResponse): void {
    // Express answers on its own, or never, where it cannot parse `url`. What a target must look like is the door's to say.
    req.target = req.url ?? '';
    req.url = '/';
    app(req, res);
  };
}

const wellFormedId = /^[\w.:-]{8,128}$/;

/** A request keeps the id that a trusted proxy gave it; from anyone else it gets a new one. */
function requestId(req: Request, origin: Origin): string {
  const given = origin.trusted ? req.headers['x-request-id'] : undefined;
  return typeof given === 'string' && wellFormedId.test(given) ? given : randomUUID();
}
