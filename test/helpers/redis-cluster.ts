import { until, type Scene } from './poll.ts';
import { durable, startRedisServer, type RedisServer } from './redis-server.ts';

const SLOTS = 16_384;

/** Three masters on the loopback. */
export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** The node that serves a slot from the beginning. */
  nodeOf(slot: number): RedisServer;
  idOf(node: RedisServer): Promise<string>;
}

/** Starts a cluster and waits until all nodes agree about it. */
export async function startRedisCluster(t: Scene): Promise<RedisCluster> {
  const cluster = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
  // A node that waits for a processor is not to be taken for dead.
  const patient = ['--cluster-node-timeout', '15000', '--cluster-require-full-coverage', 'no'];
  const options = { args: [...cluster, ...patient, ...durable] };
  const nodes = await Promise.all([1, 2, 3].map(() => startRedisServer(t, options)));
  const share = Math.ceil(SLOTS / nodes.length);
  for (const [index, node] of nodes.entries()) {
    const first = index * share;
    const slots = Array.from({ length: Math.min(share, SLOTS - first) }, (_, offset) => first + offset);
    await node.say('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    await node.say('CLUSTER', 'ADDSLOTS', ...slots);
    if (index > 0) await nodes[0]?.say('CLUSTER', 'MEET', '127.0.0.1', node.port);
  }
  for (const node of nodes) await until(() => agrees(node, nodes.length));
  return {
    url: `redis+cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`,
    nodes,
    nodeOf: (slot) => nodes[Math.floor(slot / share)] as RedisServer,
    idOf: async (node) => /[0-9a-f]{40}/.exec(await node.say('CLUSTER', 'MYID'))?.[0] ?? '',
  };
}

async function agrees(node: RedisServer, count: number): Promise<boolean> {
  const info = await node.say('CLUSTER', 'INFO');
  return info.includes(`cluster_slots_ok:${SLOTS}`) && info.includes(`cluster_size:${count}`);
}
