import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { pinoHttp } from 'pino-http';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { callerOf, isName, logTo, port, redisPort, sink, upstream } from './policy.js';

const redis = new Redis(redisPort, '127.0.0.1', { enableAutoPipelining: true });
const quotas = new Map(
  [1_000_000_000, 1].map((points) => [
    points,
    new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: 'express',
      points,
      duration: 30 * 86_400,
      inMemoryBlockOnConsumed: points + 1, // who has spent all is refused without asking Redis again
    }),
  ]),
);
const app = express();
app.disable('x-powered-by');
app.disable('etag'); // it would be computed of each refusal
// Its own serializers would write all headers into each line, and so the key.
app.use(
  pinoHttp({
    logger: pino({ base: null }, pino.destination(logTo)),
    serializers: {
      req: ({ id, method, url, remoteAddress }) => ({ id, method, url, remoteAddress }),
      res: ({ statusCode }) => ({ statusCode }),
    },
    // Asked for when a request comes, too; what is told then would be told twice.
    customProps: (req, res) =>
      res.headersSent
        ? {
            keyId: req.caller?.id,
            plan: req.caller?.plan,
            route: req.route?.path,
            bytesIn: Number(req.headers['content-length'] ?? 0),
            bytesOut: Number(res.getHeader('content-length') ?? 0),
            userAgent: req.headers['user-agent'],
          }
        : undefined,
  }),
);

app.use(async function admit(req, res, next) {
  const key = req.headers.apikey;
  if (key === undefined) return res.status(401).json({ error: 'API key is required' });
  const caller = callerOf(key);
  if (caller === undefined) return res.status(401).json({ error: 'Invalid API key' });
  req.caller = caller;
  try {
    await quotas.get(caller.limit).consume(caller.id);
    next();
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    res.status(429).json({ error: 'Quota exceeded' });
  }
});

const passing = {
  agent: new Agent({ keepAlive: true, maxSockets: 256 }),
  on: {
    proxyReq(proxyReq, req) {
      proxyReq.removeHeader('apikey');
      fixRequestBody(proxyReq, req);
    },
  },
};
const path = '/v1/voice-gender-recognition/api';
app.post(
  `${path}/name`,
  express.json({ limit: '16kb' }),
  function checkName(req, res, next) {
    if (isName(req.body)) next();
    else res.status(400).json({ error: 'The body is not valid' });
  },
  createProxyMiddleware({ ...passing, target: upstream }),
);
app.get(`${path}/big`, createProxyMiddleware({ ...passing, target: upstream }));
app.post(`${path}/voice`, createProxyMiddleware({ ...passing, target: sink }));
app.use(function failed(_error, _req, res, _next) {
  res.status(400).json({ error: 'The body is not valid' });
});
app.listen(port, '127.0.0.1');
