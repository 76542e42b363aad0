import proxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { callerOf, isName, logTo, month, port, redisPort, sink, upstream } from './policy.js';

const redis = new Redis(redisPort, '127.0.0.1', { enableAutoPipelining: true });
const logger = { base: null, stream: pino.destination(logTo) };
const app = fastify({ logger, bodyLimit: 16 * 1024 }); // of JSON: uploads are passed on while they arrive

async function admit(request, reply) {
  const key = request.headers.apikey;
  if (key === undefined) return reply.code(401).send({ error: 'API key is required' });
  const caller = callerOf(key);
  if (caller === undefined) return reply.code(401).send({ error: 'Invalid API key' });
  request.caller = caller;
  const counter = `fastify:${caller.id}:${month()}`;
  const used = await redis.incr(counter);
  if (used === 1) await redis.expire(counter, 32 * 86_400);
  if (used > caller.limit) return reply.code(429).send({ error: 'Quota exceeded' });
}

async function checkName(request, reply) {
  if (request.method === 'POST' && !isName(request.body)) {
    return reply.code(400).send({ error: 'The body is not valid' });
  }
}

app.addHook('onRequest', admit);
app.addHook('onResponse', async (request, reply) => {
  app.log.info(
    {
      requestId: request.id,
      keyId: request.caller?.id,
      plan: request.caller?.plan,
      route: request.routeOptions.url,
      method: request.method,
      path: request.url,
      status: reply.statusCode,
      bytesIn: Number(request.headers['content-length'] ?? 0),
      bytesOut: Number(reply.getHeader('content-length') ?? 0),
      ms: reply.elapsedTime,
      client: request.ip,
      userAgent: request.headers['user-agent'],
    },
    'request',
  );
});
const passing = {
  undici: { connections: 256, pipelining: 1 },
  // Fastify and its proxy would write four lines of their own for each request.
  logLevel: 'warn',
  replyOptions: { rewriteRequestHeaders: (_request, { apikey: _, ...headers }) => headers },
};
const prefix = '/v1/voice-gender-recognition/api';
for (const path of ['name', 'big']) {
  app.register(proxy, {
    ...passing,
    upstream,
    prefix: `${prefix}/${path}`,
    rewritePrefix: `${prefix}/${path}`,
    proxyPayloads: false,
    preHandler: path === 'name' ? checkName : undefined,
  });
}
app.register(proxy, {
  ...passing,
  upstream: sink,
  prefix: `${prefix}/voice`,
  rewritePrefix: `${prefix}/voice`,
});
await app.listen({ port, host: '127.0.0.1' });
