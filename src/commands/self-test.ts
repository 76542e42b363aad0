import { hash } from 'node:crypto';
import { once as event } from 'node:events';
import { duplexPair, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createAnswerer } from '../answer.ts';
import { type App, createApp } from '../app.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import type { Limits } from '../config/config.ts';
import { Connections } from '../door/connections.ts';
import { createJourney } from '../journey.ts';
import { foundOf, type FoundKey } from '../keys/found-key.ts';
import { createKeyFormat, withholdSecrets } from '../keys/key-format.ts';
import type { Quotas } from '../quota/quotas.ts';
import { createWording } from '../refusals.ts';
import { createKeyRefusals } from '../stages/authenticate.ts';
import { createRouteTable } from '../stages/find-route.ts';
import type { createLogger, Logger } from '../telemetry/log.ts';
import { createGatewayMetrics } from '../telemetry/metrics.ts';
import { createSpoolRoom } from '../uploads/spool.ts';
import { OpenSockets } from '../upstream/open-sockets.ts';
import { createOriginFinder } from '../wire/client-address.ts';
import { createRequestHeaderFilter } from '../wire/headers.ts';
import { http } from '../wire/http.ts';

/** Without a route no request gets as far as the limits, which know only ids. */
const unreached: Pick<Quotas, 'reserve' | 'read'> = {
  reserve: () => {
    throw new Error('a limit was asked by a request that has no route');
  },
  read: async () => [],
};
const limits: Limits = {
  connections: 1,
  inFlight: 9,
  inFlightPerConnection: 9,
  headerBytes: 16_384,
  headerCount: 99,
  headerTimeoutMs: 1000,
  requestTimeoutMs: 1000,
  keepAliveMs: 1000,
  stalledReaderMs: 1000,
  bodyMemory: 0,
};
const noRoom = { pieceMax: 0, wholeMax: 0, memoryMax: 0, diskMax: 0, directory: '' };

/** What becomes of the key when it is looked up, and of the request. */
interface Way {
  readonly find: () => Promise<FoundKey | undefined>;
  readonly status: 401 | 404 | 500;
}

/**
 * Whether a key that is sent shows up in a log, an answer or a metric. A canary takes every path through the stages that see keys,
 * with the gateway's own loggers and answerer, without a port and with all outputs in memory.
 */
export async function leaksSecrets(makeLogger: typeof createLogger): Promise<boolean> {
  const canary = createKeyFormat('canary').create();
  const written: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  const logger = makeLogger('trace', sink);
  const digest = hash('sha256', canary);
  const nothingElse = { owner: '', enabled: true, expiresAt: undefined };
  const record = foundOf({ id: 'canary', plan: 'canary', digest, ...nothingElse });
  const ways: readonly Way[] = [
    { find: async () => record, status: 404 },
    { find: async () => undefined, status: 401 },
    { find: () => Promise.reject(new Error('the store is away')), status: 500 },
  ];
  for (const way of ways) written.push(...(await send(canary, way, logger)));
  const all = written.join('\n');
  const bytes = Buffer.from(canary);
  const forms = [
    canary,
    digest,
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
  return forms.some((form) => all.includes(form));
}

async function send(canary: string, { find, status }: Way, logger: Logger): Promise<readonly string[]> {
  const metrics = createGatewayMetrics();
  const travel = createJourney({
    connections: new Connections(limits),
    keyHeaders: ['apikey'],
    keyCheck: {
      findKey: find,
      noteUse: () => undefined,
      noteFailure: () => undefined,
      now: Date.now,
      refusals: createKeyRefusals('ApiKey'),
      headerNames: undefined,
    },
    routes: createRouteTable([]),
    usage: { path: undefined, plans: new Map(), quotas: unreached },
    admission: { plans: new Map(), quotas: unreached, count: () => undefined, warn: () => undefined },
    bodyRooms: {
      memory: new BodyMemory(limits.bodyMemory),
      spools: createSpoolRoom(noRoom),
      requestMs: limits.requestTimeoutMs,
    },
    forwarding: {
      upstreams: new Map(),
      passes: createRequestHeaderFilter(['apiKey'], false),
      forwarded: false,
      sockets: new OpenSockets(),
    },
    answer: createAnswerer(createWording(new Map())),
  });
  const app = createApp({
    travel,
    findOrigin: createOriginFinder([]),
    logger,
    metrics,
    withhold: withholdSecrets,
  });
  const once = await exchange(app, [canary], status);
  // Sent twice, a key is refused without being looked up.
  const twice = await exchange(app, [canary, canary], 401);
  return [once, twice, await metrics.registry.metrics()];
}

/** One request over a connection in memory. Answered by another stage, it would not test the one it is meant for. */
async function exchange(
  { handle, messageClasses }: App,
  keys: readonly string[],
  status: number,
): Promise<string> {
  const [client, server] = duplexPair();
  http.createServer(messageClasses, handle).emit('connection', server);
  const headers = keys.map((key) => `apiKey: ${key}\r\n`).join('');
  client.write(`GET /canary HTTP/1.1\r\nHost: canary\r\nConnection: close\r\n${headers}\r\n`);
  const closed = event(server, 'close');
  const answer = await text(client);
  await closed;
  if (!answer.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`the self-test was not answered ${status}`);
  return answer;
}
