import { ReplyError, type Cluster, type Redis } from 'ioredis';
import { connectionClosed, NeverSent } from '../failures.ts';
import { greetQuietly } from './greet-quietly.ts';

const slotsRefreshMs = 1000;

/** Does what the client of a cluster leaves undone for its nodes (ioredis 6.0.0). */
export function tendNodes(cluster: Cluster): void {
  refreshSlots(cluster);
  markUnsent(cluster);
  tellWhyNotReady(cluster);
  // Not before the cluster is ready: a node that has begun to try never ends, and the client waits for all of them to end.
  cluster.on('ready', () => cluster.nodes().forEach(connect));
  cluster.on('+node', (node: Redis) => {
    holdAsking(node);
    // Otherwise commands for a connection that is closing would be queued, and then fail together with what was sent. Before its
    // first connection a node has to queue what the cluster itself asks it.
    node.once('ready', () => (node.options.enableOfflineQueue = false));
    greetQuietly(node).on('evicting', (policy: string) => cluster.emit('evicting', policy));
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
 * Makes a call that found its node away fail as one that was never sent. ioredis 6.0.0 fails it like those that were lost with
 * their connection, but while it looks for the node: before the call is sent at all, or after an answer that redirects it.
 */
function markUnsent(cluster: Cluster): void {
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, ...rest) => {
    let isLooking = false;
    const whileLooking = (look: () => unknown): void => {
      isLooking = true;
      look();
      isLooking = false;
    };
    const fail = command.reject.bind(command);
    command.reject = (error) => fail(isLooking && saysClosed(error) ? new NeverSent() : error);
    whileLooking(() => send(command, ...rest));
    // The cluster has put its own in front, which looks where to go on from here.
    const goOn = command.reject.bind(command);
    command.reject = (error) => (saysClosed(error) ? goOn(error) : whileLooking(() => goOn(error)));
    return command.promise;
  };
}

function saysClosed({ message }: Error): boolean {
  return message === connectionClosed;
}

/**
 * Before it is ready the client asks one of the nodes whether the cluster is up. If it is not, or the client may not ask or cannot
 * reach the node, it tries again and tells nobody why.
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
