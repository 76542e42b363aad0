import type { Cluster, Redis } from 'ioredis';

/** Sees to what the client of a cluster leaves undone for its nodes (ioredis 6.0.0). */
export function tendNodes(cluster: Cluster): void {
  // Not before the cluster is ready: a node that has begun to try never ends, and the client waits for the end of all.
  cluster.on('ready', () => cluster.nodes('master').forEach(connect));
  cluster.on('+node', (node: Redis) => {
    holdAsking(node);
    if (cluster.status === 'ready') connect(node);
  });
}

/** A node would be connected to by the first call for it, and all others fail meanwhile ("Connection is closed."). */
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
