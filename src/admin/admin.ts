import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { Address } from '../config/config.ts';
import { describeCause } from '../telemetry/log.ts';
import type { MetricsSource } from '../telemetry/metrics.ts';
import { endPatienceMs, within } from '../waiting/patience.ts';
import { allIsRead } from '../waiting/when-all-is-read.ts';
import { http } from '../wire/http.ts';
import { endBehindUpgrade } from '../wire/ignored-upgrade.ts';
import { Api, isApiPath, type ApiParts } from './api.ts';
import { leadRequests } from './client-connections.ts';
import { createConsole } from './console/console.ts';
import { createDocument } from './document.ts';
import { createGuard } from './guard.ts';
import { AdminProblem, onlyRead, problemOf } from './problem.ts';
import { readTarget } from './read-request.ts';
import type { Readiness } from './readiness.ts';
import { jsonType, sendAnswer, sendText } from './send-answer.ts';

export interface AdminParts extends ApiParts {
  readonly readiness: Pick<Readiness, 'check'>;
  readonly metrics: Pick<MetricsSource, 'contentType' | 'metrics'>;
}

export interface AdminListener {
  readonly address: Address;
  /** Takes no more requests for the API. Resolves once those taken whole are done, or time is up. The probes and metrics go on. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The second listener, for the people who run the gateway, and never served on the public port. The probes need no token, because
 * the machines that call them have none; nor do the API document and the console page, which say nothing about this gateway.
 */
export async function listenAdmin(parts: AdminParts, { host, port }: Address): Promise<AdminListener> {
  const api = new Api(parts);
  // An import may take its time. The code that reads a body waits only while something comes.
  const server = http.createServer({
    headersTimeout: 10_000,
    requestTimeout: 0,
    insecureHTTPParser: false,
    requireHostHeader: false, // Node would refuse it without a body
  });
  const connections = leadRequests(server, createHandler(parts, api));
  await once(server.listen({ host, port }), 'listening');
  const bound = server.address() as AddressInfo;
  return {
    address: { host: bound.address, port: bound.port },
    drain: () => within(endPatienceMs, api.drain()),
    close: async () => {
      const gone = once(server.close(), 'close');
      connections.endAll();
      await gone;
    },
  };
}

function createHandler({ configInForce, readiness, metrics, logger }: AdminParts, api: Api): RequestListener {
  // A reload does not change its tokens.
  const guard = createGuard(configInForce(), logger);
  // Written once: who has no token may ask for it as often as they like.
  const document = JSON.stringify(createDocument());
  const servePage = createConsole();
  const print = oncePerTurn(() => metrics.metrics());
  const app = express();
  app.disable('x-powered-by');
  app.use(function prepare(req: Request, res: Response, next: NextFunction) {
    endBehindUpgrade(req, res);
    // Of a whole URL Express would take the path, and leave the host that it names, which counts (RFC 9112 §3.2.2), unlooked at.
    if (req.url !== '*' && !req.url.startsWith('/'))
      throw new AdminProblem('malformed', 'The target is malformed');
    if (req.httpVersion === '1.1' && req.headers.host === undefined)
      throw new AdminProblem('malformed', 'The header Host is missing');
    next();
  });
  /** What can only be read. */
  function offer(path: string, show: RequestHandler): void {
    app
      .route(path)
      .get(show)
      .all(function refuseMethod() {
        throw onlyRead();
      });
  }
  offer('/livez', function livez(_req, res) {
    sendAnswer(res, { status: 200, body: { status: 'live' } });
  });
  offer('/readyz', async function readyz(req, res) {
    const withoutStore = excludesStore(req.url);
    const { reasons, ...report } = await readiness.check();
    const ready = withoutStore ? report.readyWithoutStore : report.ready;
    const body = { status: ready ? 'ready' : 'not ready', reasons };
    sendAnswer(res, { status: ready ? 200 : 503, body });
  });
  app.use(function checkHost(req: Request, _res: Response, next: NextFunction) {
    guard.checkHost(req);
    next();
  });
  offer('/openapi.json', function serveDocument(_req, res) {
    sendText(res, { status: 200, headers: jsonType, text: document });
  });
  app.use(function serveConsole(req: Request, res: Response, next: NextFunction) {
    if (!servePage(req, res)) next();
  });
  app.use(function serveApi(req: Request, res: Response, next: NextFunction) {
    const token = guard.identify(req);
    if (isApiPath(req.url)) void api.answer(req, res, token);
    else next();
  });
  offer('/metrics', async function serveMetrics(_req, res) {
    const headers = { 'Content-Type': metrics.contentType };
    sendText(res, { status: 200, headers, text: await print() });
  });
  app.use(function unknown() {
    throw new AdminProblem('not_found', 'Not found');
  });
  app.use(function failed(error: unknown, _req: Request, res: Response, _next: NextFunction) {
    const problem = problemOf(error);
    if (problem.code === 'internal')
      logger.error({ cause: describeCause(error) }, 'a fault on the admin listener');
    sendAnswer(res, problem);
  });
  return function handle(req, res) {
    // Called for a target that Express cannot read. By itself it would answer in its own way, and only after the body.
    app(req as Request, res as Response, () => {
      res.shouldKeepAlive = false;
      sendAnswer(res, new AdminProblem('malformed', 'The target is malformed'));
    });
  };
}

/**
 * Whether `/readyz` is to leave out the store, as that of kube-apiserver leaves out what `exclude` names. What is misspelt is
 * refused: otherwise that would show only in the outage that it was meant for.
 */
function excludesStore(target: string): boolean {
  const parameters = [...new URLSearchParams(readTarget(target).query)];
  if (parameters.every(([name, value]) => name === 'exclude' && value === 'store'))
    return parameters.length > 0;
  throw new AdminProblem('malformed', 'The only parameter of /readyz is exclude=store');
}

/** All who ask in one turn share what it comes to: a page of many series is much work, and several MB. */
function oncePerTurn<T>(work: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  async function begin(): Promise<T> {
    await allIsRead();
    shared = undefined;
    return await work();
  }
  return () => (shared ??= begin());
}
