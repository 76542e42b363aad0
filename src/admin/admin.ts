import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Address } from '../config/config.ts';
import { http } from '../http.ts';
import type { MetricsSource } from '../metrics.ts';
import type { Readiness } from './readiness.ts';

export interface AdminParts {
  readonly token: string | undefined;
  readonly readiness: Readiness;
  readonly metrics: { readonly registry: Pick<MetricsSource, 'contentType' | 'metrics'> };
}

export interface AdminListener {
  readonly address: Address;
  close(): Promise<void>;
}

/**
 * The second listener, for the people who run the gateway: probes and metrics. Nothing of it is ever served on the
 * public port. The two probes need no token, because the machines that call them have none.
 */
export function createAdmin({ token, readiness, metrics }: AdminParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/livez', function livez(_req: Request, res: Response) {
    res.json({ status: 'live' });
  });
  app.get('/readyz', async function readyz(_req: Request, res: Response) {
    const { ready, reasons } = await readiness.check();
    res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', reasons });
  });
  if (token !== undefined) app.use(requireToken(token));
  app.get('/metrics', async function serveMetrics(_req: Request, res: Response) {
    res.setHeader('Content-Type', metrics.registry.contentType);
    res.end(await metrics.registry.metrics());
  });
  app.use(function unknown(_req: Request, res: Response) {
    res.status(404).json({ error: 'Not found' });
  });
  app.use(function failed(_error: unknown, _req: Request, res: Response, _next: NextFunction) {
    res.status(500).json({ error: 'Internal server error' });
  });
  return app;
}

export async function listenAdmin(app: Express, { host, port }: Address): Promise<AdminListener> {
  const server = http.createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const bound = server.address() as AddressInfo;
  return {
    address: { host: bound.address, port: bound.port },
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Digests are compared, so neither length nor content shows in the time it takes. */
function requireToken(token: string): (req: Request, res: Response, next: NextFunction) => void {
  const expected = sha256(token);
  return function checkToken(req, res, next) {
    const [scheme = '', given = ''] = (req.headers.authorization ?? '').split(' ');
    if (scheme.toLowerCase() === 'bearer' && timingSafeEqual(sha256(given), expected)) {
      next();
      return;
    }
    res.status(401).setHeader('WWW-Authenticate', 'Bearer realm="gatehouse admin"');
    res.json({ error: 'A valid admin token is required' });
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
