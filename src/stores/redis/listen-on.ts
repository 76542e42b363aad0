import type { Redis } from 'ioredis';

/**
 * Listens on a channel with a client of its own, for as long as it is connected and again whenever it is. The first word
 * after each connection is said by us: what was published in between is lost.
 */
export function listenOn(client: Redis, channel: string, onNews: () => void): () => void {
  // Without a listener ioredis prints errors. What is wrong with Redis is told by the calls that need it.
  client.on('error', () => undefined);
  client.on('message', onNews);
  client.on('ready', () => {
    subscribe().then(onNews, () => undefined);
  });
  return () => client.disconnect();

  /** Only where a Redis answers: one that is none may say to SUBSCRIBE what ends the process (ioredis 6.0.0). */
  async function subscribe(): Promise<void> {
    if ((await client.ping()) === 'PONG') await client.subscribe(channel);
  }
}
