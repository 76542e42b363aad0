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
  /** Where the one before was. */
  let former: string | undefined;
  /** When the sentinels last named another, and when the client last asked them. */
  let movedAt = -Infinity;
  let askedAt = -Infinity;
  client.on('connecting', () => (askedAt = performance.now()));
  // That a sentinel is away is no failure: another is asked next.
  sentinel.on('error', () => undefined);
  const timer = setInterval(() => void look(), lookEveryMs);

  async function look(): Promise<void> {
    const answer: unknown = await sentinel.call('SENTINEL', 'MASTER', name).catch(() => undefined);
    learn(readMaster(answer));
    // One that is connecting is left to it, and looked at the next time.
    if (client.status !== 'ready' || !isAstray()) return;
    client.disconnect(true);
    // Should it be this sentinel that has heard of nothing, another says so.
    sentinel.disconnect(true);
  }

  function learn(named: Master | undefined): void {
    if (named === undefined || (known !== undefined && named.epoch < known.epoch)) return;
    if (known !== undefined && named.address !== known.address) {
      former = known.address;
      movedAt = performance.now();
    }
    known = named;
  }

  /**
   * Whether the client has not found the way by itself, as after the death of a master, or was led back by a sentinel that has not
   * heard of the failover. Where sentinels say names it is not known where it is: it is led anew after each move, once.
   */
  function isAstray(): boolean {
    const { remoteAddress, remotePort } = client.stream;
    const address = `${remoteAddress} ${remotePort}`;
    return address === former || (askedAt < movedAt && address !== known?.address);
  }

  return () => {
    clearInterval(timer);
    sentinel.disconnect();
  };
}

function readMaster(answer: unknown): Master | undefined {
  if (!Array.isArray(answer)) return undefined;
  const words = answer.map(String);
  const valueOf = (field: string): string => words[words.indexOf(field) + 1] ?? '';
  return { address: `${valueOf('ip')} ${valueOf('port')}`, epoch: Number(valueOf('config-epoch')) };
}
