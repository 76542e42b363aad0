import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { DNSLookupFunction } from 'ioredis/built/cluster/ClusterOptions.js';
import type { Address, RedisAddress, RedisServers } from '../../../config/config.ts';
import { within } from '../../../waiting/patience.ts';
import { whenAllIsRead } from '../../../waiting/when-all-is-read.ts';
import { isRefusal } from '../failures.ts';
import type { Trust } from './authorities.ts';
import { endWhenConfused } from './end-when-confused.ts';
import { followMaster } from './follow-master.ts';
import { greetQuietly } from './greet-quietly.ts';
import { tendNodes } from './tend-nodes.ts';

endWhenConfused();

/** One Redis, or a cluster of them; both take the same commands. */
export type Client = Redis | Cluster;

/** Shorter than the 2 s within which a Redis that is back has to be in use again. */
const patienceMinMs = 1000;
/** When ioredis gives up on a connection every call on it fails; by then even the oldest has passed its deadline. */
const patienceSpareMs = 250;
const reconnectMaxMs = 500;
/** Together they take two seconds. */
const nodeAttempts = 8;

interface Terms {
  readonly trust: Trust;
  /** How long a call waits for its answer. Beyond about a second, connecting may take as long too. */
  readonly deadlineMs: number;
}

/** Connects. The client tries for ever, never queues while it is not connected and never sends twice. */
export function createClient(address: RedisAddress, terms: Terms): Client {
  const { servers } = address;
  const options = connectionOptions(address, terms);
  if (servers.kind !== 'cluster') return createRedis(servers, options);
  const nodes = servers.nodes.map(({ host, port }) => ({ host, port }));
  const cluster = new Cluster(nodes, clusterOptions(options));
  tendNodes(cluster);
  return cluster;
}

/**
 * Connects to listen; such a connection can send nothing else. Every node of a cluster hears what is published: any that the client
 * knows will do, and the next attempt may pick another. ioredis's own way to listen tries without a pause (6.0.0).
 */
export function createListener(address: RedisAddress, terms: Terms, client: Client): Redis {
  const { servers } = address;
  const options = connectionOptions(address, terms);
  if (servers.kind !== 'cluster') return createRedis(servers, options);
  const choose = (): Address | undefined => {
    const known = (client as Cluster).nodes().map(({ options: { host = '', port = 0 } }) => ({ host, port }));
    const nodes = known.length > 0 ? known : servers.nodes;
    return nodes[Math.floor(Math.random() * nodes.length)];
  };
  return connectInTurn(options, choose);
}

/**
 * Listens on a channel with a client of its own, again whenever it connects. What was published before it listened is news as well.
 * Returns how to stop.
 */
export function listenOn(listener: Redis, channel: string, onNews: () => void): () => void {
  // Without a listener ioredis prints errors. The calls that need Redis tell what is wrong with it.
  listener.on('error', () => undefined);
  listener.on('message', onNews);
  listener.on('ready', () => {
    listener.subscribe(channel).then(onNews, () => undefined);
  });
  return () => listener.disconnect();
}

/** Keeps the client connected to the master that Sentinel watches, wherever that is. Returns how to stop it. */
export function followSentinels(address: RedisAddress, terms: Terms, client: Client): () => void {
  const { servers } = address;
  if (servers.kind !== 'sentinel' || client instanceof Cluster) return () => undefined;
  const { sentinels, sentinelUsername: username, sentinelPassword: password } = servers;
  const options = { ...connectionOptions(address, terms), db: 0, username, password };
  let turn = 0;
  const sentinel = connectInTurn(options, () => sentinels[turn++ % sentinels.length]);
  return followMaster(client, sentinel, servers.master);
}

/** Connects to one of several that will all do; the next attempt may pick another. */
function connectInTurn(options: ConnectionOptions, choose: () => Address | undefined): Redis {
  const client: Redis = new Redis({
    ...options,
    ...choose(),
    retryStrategy(attempt) {
      // The options say where the next attempt leads.
      Object.assign(client.options, choose());
      return reconnectInMs(attempt);
    },
  });
  return greetQuietly(client);
}

type ConnectionOptions = ReturnType<typeof connectionOptions>;

type OneRedis = Exclude<RedisServers, { kind: 'cluster' }>;

function createRedis(servers: OneRedis, options: ConnectionOptions): Redis {
  const client = connectTo(servers, options);
  // A connection whose SELECT was refused would go on in database 0, where no key is known and no usage counted: ioredis 6.0.0
  // takes it for ready. So it is dropped before that, and made again.
  client.on('error', (error: Error & { command?: { name?: unknown } }) => {
    if (error.command?.name === 'select') client.disconnect(true);
  });
  return greetQuietly(client);
}

function connectTo(servers: OneRedis, options: ConnectionOptions): Redis {
  if (servers.kind === 'single') return new Redis({ ...options, ...servers.address });
  return new Redis({
    ...options,
    name: servers.master,
    sentinels: servers.sentinels.map(({ host, port }) => ({ host, port })),
    sentinelUsername: servers.sentinelUsername,
    sentinelPassword: servers.sentinelPassword,
    sentinelRetryStrategy: reconnectInMs,
    sentinelCommandTimeout: options.socketTimeout,
    // Its message may arrive while the client is reconnecting, and the client then ends for good ("Connection is closed.", seen
    // in a quarter of the failovers with ioredis 6.0.0). follow-master.ts asks instead, and waits.
    failoverDetector: false,
    enableTLSForSentinelMode: options.tls !== undefined,
    ...(options.tls === undefined ? {} : { sentinelTLS: options.tls }),
  });
}

function connectionOptions(address: RedisAddress, { trust, deadlineMs }: Terms) {
  const patienceMs = Math.max(patienceMinMs, deadlineMs + patienceSpareMs);
  return {
    protocol: 2 as const,
    db: address.db,
    username: address.username,
    password: address.password,
    ...(address.tls === undefined ? {} : { tls: trust }),
    disableClientInfo: true,
    connectTimeout: patienceMs,
    // A connection that owes an answer for this long is given up (end-when-silent.ts).
    socketTimeout: patienceMs,
    disconnectTimeout: 200,
    maxLoadingRetryTime: 200,
    retryStrategy: reconnectInMs,
    reconnectOnError: leaveReplica(),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Nobody holds the promise of its SUBSCRIBE: a connection lost before the answer would end the process (ioredis 6.0.0).
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
  } satisfies RedisOptions;
}

/**
 * Reconnects after the answer of a replica, without sending the command again: by then the name may lead to another master. No more
 * often than after any other failure, because this one may stay a replica. And once for all answers that came together: the client
 * would close its connection for each, with a timer and a listener each time (ioredis 6.0.0).
 */
function leaveReplica(): (error: Error) => false | 1 {
  let leftAt = -Infinity;
  return (error) => {
    const now = performance.now();
    if (now - leftAt < reconnectMaxMs || !isRefusal(error, 'READONLY')) return false;
    leftAt = now;
    return 1;
  };
}

/** Resolves when connected, or when a first attempt has failed; connecting goes on either way. */
export async function firstConnection(client: Client, withinMs: number): Promise<void> {
  const latest = performance.now() + withinMs;
  await connected(client, withinMs);
  if (!(client instanceof Cluster)) return;
  const masters = client.nodes('master');
  await Promise.all(masters.map((node) => connected(node, Math.max(1, latest - performance.now()))));
}

/** Also resolves when a first attempt has failed, or when time is up. */
async function connected(client: Client, withinMs: number): Promise<void> {
  if (client.status === 'ready') return;
  const { promise: tried, resolve } = Promise.withResolvers<void>();
  // The first error says all that is known for now: the client tries again in the background.
  client.once('ready', resolve).once('error', resolve);
  await within(withinMs, tried);
}

/**
 * Sends everything of this turn of the event loop in one write. The pipelines that ioredis makes by itself would do that too, but
 * it sends none until all answers to the last have come (6.0.0): each call would wait for nearly two round trips, and one slow call
 * would hold up all. In a cluster, while a slot moves, whole pipelines fail (its issue 2075). `sendLast` sends what has been
 * gathered by then.
 */
export function sendTogether(client: Client, sendLast: () => void): void {
  if (client instanceof Cluster) return;
  const { stream } = client;
  if (stream.writableCorked > 0) return;
  stream.cork();
  whenAllIsRead(() => {
    sendLast();
    stream.uncork();
  });
}

/** Sends what has been gathered in this turn, without waiting for its end. */
export function sendAtOnce(client: Client): void {
  if (!(client instanceof Cluster)) client.stream.uncork();
}

function clusterOptions(options: ConnectionOptions) {
  return {
    // Whether its nodes queue, and when they try again, the client of a cluster sets itself, whatever these say.
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectInMs,
    // A node that stays away is given up: when none is left, the cluster is looked for again, where its names lead by then.
    clusterNodeRetryStrategy: (attempt: number) => (attempt > nodeAttempts ? null : reconnectInMs(attempt)),
    // Following a slot is safe, because its answer says that nothing was done. Anything else is not sent again.
    maxRedirections: 4,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // All tries together take less than a store may take for its answer.
    retryDelayOnTryAgain: 25,
    slotsRefreshTimeout: options.socketTimeout,
    // Certificates are issued for names, so with TLS a name is kept until the connection is made.
    ...(options.tls === undefined ? {} : { dnsLookup: keepName }),
  } satisfies ClusterOptions;
}

const keepName: DNSLookupFunction = (host, callback) => callback(null, host);

function reconnectInMs(attempt: number): number {
  return Math.min(25 * 2 ** Math.min(attempt, 6), reconnectMaxMs) * (0.5 + Math.random() / 2);
}
