import type { Redis } from 'ioredis';

const lookEveryMs = 500;

/** What a sentinel says. Where two of them differ, the later epoch is right. */
interface Master {
  readonly address: string;
  readonly epoch: number;
}

/**
 * Has a client leave a master that the sentinels have replaced. After a planned failover the old one goes on taking writes for some
 * ten seconds, until it is made a replica and forgets them all. ioredis asks the sentinels only when it connects, and its own way
 * to hear of a failover may end the client for good (client.ts). Returns how to stop.
 */
export function followMaster(client: Redis, sentinel: Redis, name: string): () => void {
  let known: Master | undefined;
  /** The master that a failover has replaced. */
  let former: string | undefined;
  /** When the sentinels last named another, and when the client last asked them. */
  let movedAt = -Infinity;
  let askedAt = -Infinity;
  /** The client was at the former master when last looked at. */
  let wasBack = false;
  client.on('connecting', () => (askedAt = performance.now()));
  // That a sentinel is away is no failure: another is asked next.
  sentinel.on('error', () => undefined);
  const timer = setInterval(() => void look(), lookEveryMs);

  async function look(): Promise<void> {
    const named = await askFor(name, sentinel);
    if (named === undefined) return;
    if (known !== undefined && named.epoch < known.epoch) {
      // It has not heard of the failover. Another may have.
      sentinel.disconnect(true);
      return;
    }
    learn(named);
    // While the client is connecting it is left to itself, and looked at the next time.
    if (client.status === 'ready') judge(`${client.stream.remoteAddress} ${client.stream.remotePort}`, named);
  }

  function learn(named: Master): void {
    if (known !== undefined && named.address !== known.address) {
      former = named.epoch > known.epoch ? known.address : undefined;
      movedAt = performance.now();
    }
    known = named;
  }

  /**
   * After a failover the client has to connect anew, unless it has done so by itself, as after the death of a master. It is made to
   * only once, because where sentinels say names nobody can tell where it is. If it is at the former master, a sentinel that has not
   * heard of the failover may have led it back; or the former is master again, and this sentinel has not heard: another is asked first.
   */
  function judge(address: string, { address: master }: Master): void {
    const isBack = address === former;
    if ((askedAt < movedAt && address !== master) || (isBack && wasBack)) client.disconnect(true);
    if (isBack) sentinel.disconnect(true);
    wasBack = isBack;
  }

  return () => {
    clearInterval(timer);
    sentinel.disconnect();
  };
}

/** Undefined when there is no answer. A sentinel that leads a failover knows the new address before it lists it among the fields. */
async function askFor(name: string, sentinel: Redis): Promise<Master | undefined> {
  try {
    const [address, fields] = await Promise.all([
      sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
      sentinel.call('SENTINEL', 'MASTER', name),
    ]);
    return readMaster(address, fields);
  } catch {
    return undefined;
  }
}

function readMaster(address: unknown, fields: unknown): Master | undefined {
  if (!Array.isArray(address) || !Array.isArray(fields)) return undefined;
  const words = fields.map(String);
  const epoch = Number(words[words.indexOf('config-epoch') + 1]);
  return Number.isNaN(epoch) ? undefined : { address: address.join(' '), epoch };
}
