import assert from 'node:assert/strict';
import { nameKeys, slotOf } from '../../src/stores/redis/names.ts';
import { until, type Scene } from './poll.ts';
import { durable, startRedisServer, type RedisServer } from './redis-server.ts';

const SLOTS = 16_384;

/** The slot of all that the ledger keeps of an API key, whatever the prefix. */
export function slotOfKey(keyId: string): number {
  return slotOf(nameKeys('', keyId).places());
}

/** Three masters on the loopback. */
export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** The node that serves a slot from the beginning. */
  nodeOf(slot: number): RedisServer;
  idOf(node: RedisServer): Promise<string>;
  /** Moves a slot from the node that serves it. Calls back when a part of it has moved. */
  moveSlot(slot: number, from: RedisServer, to: RedisServer, atHalf?: () => Promise<void>): Promise<void>;
  beginMove(slot: number, from: RedisServer, to: RedisServer): Promise<void>;
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
    idOf,
    moveSlot,
    beginMove,
  };
}

/** Whether the node takes commands, which one that comes back as a master does two seconds later (CLUSTER_WRITABLE_DELAY). */
export async function isWell(node: RedisServer): Promise<boolean> {
  return (await node.say('CLUSTER', 'INFO')).includes('cluster_state:ok');
}

async function idOf(node: RedisServer): Promise<string> {
  return /[0-9a-f]{40}/.exec(await node.say('CLUSTER', 'MYID'))?.[0] ?? '';
}

const moveSlot: RedisCluster['moveSlot'] = async (slot, from, to, atHalf) => {
  await beginMove(slot, from, to);
  const names = async (): Promise<string[]> => {
    const lines = (await from.say('CLUSTER', 'GETKEYSINSLOT', slot, 100)).split('\r\n');
    return lines.filter((line) => line.includes('{'));
  };
  const move = async (name: string): Promise<unknown> =>
    await from.say('MIGRATE', '127.0.0.1', to.port, name, 0, 5_000);
  const [first = ''] = await names();
  await move(first);
  await atHalf?.();
  for (let left = await names(); left.length > 0; left = await names()) {
    for (const name of left) await move(name);
  }
  const toId = await idOf(to);
  for (const node of [to, from])
    assert.match(await node.say('CLUSTER', 'SETSLOT', slot, 'NODE', toId), /^\+OK/);
};

async function beginMove(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  assert.match(await to.say('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId), /^\+OK/);
  assert.match(await from.say('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId), /^\+OK/);
}

async function agrees(node: RedisServer, count: number): Promise<boolean> {
  const info = await node.say('CLUSTER', 'INFO');
  return info.includes(`cluster_slots_ok:${SLOTS}`) && info.includes(`cluster_size:${count}`);
}
