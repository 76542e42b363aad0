import type { Redis } from 'ioredis';

const lookEveryMs = 500;

/** What a sentinel says. Where two of them differ, the later epoch is right. */
interface Master {
  readonly address: string;
  readonly epoch: number;
}

/**
 * Has a client leave a master that the sentinels have replaced. After a planned failover the old one goes on taking writes for
 * some ten seconds, until it is made a replica and forgets them all. ioredis asks the sentinels only when it connects, and its
 * own way to hear of a failover may end the client for good (client.ts). Returns how to stop.
 */
export function followMaster(client: Redis, sentinel: Redis, name: string): () => void {
  let known: Master | undefined;
  /** When the sentinels last named another, and when the client last asked them. */
  let movedAt = -Infinity;
  let askedAt = -Infinity;
  client.on('connecting', () => (askedAt = performance.now()));
  // That a sentinel is away is no failure: another is asked next.
  sentinel.on('error', () => undefined);
  const timer = setInterval(() => void look(), lookEveryMs);

  async function look(): Promise<void> {
    const answer: unknown = await sentinel.call('SENTINEL', 'MASTER', name).catch(() => undefined);
    const named = readMaster(answer);
    if (named === undefined || (known !== undefined && named.epoch < known.epoch)) return;
    if (known !== undefined && named.address !== known.address) movedAt = performance.now();
    known = named;
    // One that is connecting is left to it, and looked at the next time.
    if (askedAt < movedAt && client.status === 'ready' && !isAt(client, named)) client.disconnect(true);
  }

  return () => {
    clearInterval(timer);
    sentinel.disconnect();
  };
}

/** Whether the client has found the way by itself, as after the death of a master. Where sentinels say names it is not known. */
function isAt({ stream }: Redis, { address }: Master): boolean {
  return address === `${stream.remoteAddress} ${stream.remotePort}`;
}

function readMaster(answer: unknown): Master | undefined {
  if (!Array.isArray(answer)) return undefined;
  const words = answer.map(String);
  const valueOf = (field: string): string => words[words.indexOf(field) + 1] ?? '';
  return { address: `${valueOf('ip')} ${valueOf('port')}`, epoch: Number(valueOf('config-epoch')) };
}
