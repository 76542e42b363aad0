import type { RedisAddress } from '../../config/config.ts';
import { printServers } from '../../config/print-store.ts';
import type { Store, StoreOptions } from '../store.ts';
import { trustFor } from './client/authorities.ts';
import { createClient, createListener, firstConnection, followSentinels, listenOn } from './client/client.ts';
import { createRedisKeys } from './keys.ts';
import { createRedisLedger } from './ledger.ts';
import { createLink } from './link.ts';
import { keysTag } from './names.ts';
import { callOf, scripts } from './scripts.ts';

/** How long opening waits, at least, for the first connection. A gateway may start before its Redis does. */
const firstConnectionMs = 1000;
const probeKeptMs = 60_000;

/** Opens the store in Redis. Resolves without a connection too, and then goes on connecting. */
export async function openRedis(
  address: RedisAddress,
  { deadlineMs = 250, onSetBack, onEvicting }: StoreOptions,
): Promise<Store> {
  const terms = { trust: trustFor(address), deadlineMs };
  const client = createClient(address, terms);
  // A Redis without TLS waits for the rest of the TLS greeting, and says nothing.
  const how = address.tls === undefined ? '' : ' (asked in TLS)';
  const link = createLink(client, { deadlineMs, where: `${printServers(address.servers)}${how}` });
  client.on('evicting', onChange(onEvicting));
  const unfollow = followSentinels(address, terms, client);
  // A longer deadline for calls gives connecting longer too.
  await firstConnection(client, Math.max(firstConnectionMs, deadlineMs));
  const probeName = `${address.prefix}${keysTag}:probe`;
  return {
    keys: createRedisKeys(link, {
      prefix: address.prefix,
      isCluster: client.isCluster,
      listen: (channel, onNews) => listenOn(createListener(address, terms, client), channel, onNews),
      onSetBack,
    }),
    ledger: createRedisLedger(link, address.prefix),
    identity: undefined,
    ping: async () => void (await link.ask((redis) => redis.ping())),
    // By a script, because a user that may not run scripts cannot count quotas. In a cluster it asks the node of all keys: without
    // that one no change of a key is heard of, and each of the others has only a part of the usage.
    probe: async () => void (await link.ask(callOf(scripts.probe, [probeName], [probeKeptMs]))),
    close: async () => {
      unfollow();
      link.close();
    },
  };
}

/** Reports only changes: every connection says it again. */
function onChange(tell?: (said: string) => void): (said: string) => void {
  let last: string | undefined;
  return (said) => {
    if (said !== last) tell?.(said);
    last = said;
  };
}
