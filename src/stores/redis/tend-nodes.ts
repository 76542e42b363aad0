import { ReplyError, type Cluster, type Redis } from 'ioredis';
import { mindGreeting } from './mind-greeting.ts';
import { tellUnsent } from './tell-unsent.ts';

const slotsRefreshMs = 1000;

/** Does what the client of a cluster leaves undone for its nodes (ioredis 6.0.0). */
export function tendNodes(cluster: Cluster): void {
  refreshSlots(cluster);
  tellUnsent(cluster);
  tellWhyNotReady(cluster);
  // Not before the cluster is ready: a node that has begun to try never ends, and the client waits for all of them to end.
  cluster.on('ready', () => cluster.nodes().forEach(connect));
  cluster.on('+node', (node: Redis) => {
    holdAsking(node);
    keepNothing(node);
    mindGreeting(node).on('evicting', (policy: string) => cluster.emit('evicting', policy));
    if (cluster.status === 'ready') connect(node);
  });
}

/** The client's own interval goes on even if it is closed during a refresh: a command would never end. */
function refreshSlots(cluster: Cluster): void {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearInterval(timer);
  cluster.on('disconnecting', stop).on('close', stop);
  cluster.on('ready', () => {
    timer = setInterval(() => cluster.refreshSlotsCache(), slotsRefreshMs).unref();
  });
}

/**
 * Whether the cluster is up it asks one of the nodes before it is ready. A no, that it may not ask, or why it cannot reach that
 * node it keeps to itself, and tries again.
 */
function tellWhyNotReady(cluster: Cluster): void {
  cluster.on('node error', (error: Error) => {
    if (cluster.status === 'connect') cluster.emit('error', error);
  });
  const ask = cluster.cluster.bind(cluster);
  Object.assign(cluster, {
    cluster: (what: 'INFO', answer: (error?: Error | null, text?: unknown) => void) =>
      ask(what, (error, text) => {
        const isDown = typeof text === 'string' && text.includes('cluster_state:fail');
        const why = isDown ? new ReplyError('CLUSTERDOWN') : error;
        if (why) cluster.emit('error', why);
        answer(error, text);
      }),
  });
}

/** Otherwise the first call for a node would connect to it, and all others fail meanwhile ("Connection is closed."). */
function connect(node: Redis): void {
  const isMaster = node.options.readOnly !== true;
  if (isMaster && node.status === 'wait') node.connect().catch(ignore);
}

/**
 * What a closing connection takes no more would be kept, and then fail together with what was sent. Before its first connection a node
 * has to keep what the cluster itself asks it.
 */
function keepNothing(node: Redis): void {
  node.once('ready', () => (node.options.enableOfflineQueue = false));
}

/** Nobody holds the promise of its ASKING: a node that dies while a slot moves to it would end the process. */
function holdAsking(node: Redis): void {
  const ask = node.asking.bind(node);
  node.asking = () => {
    const asked = ask();
    asked.catch(ignore);
    return asked;
  };
}

function ignore(): void {}
