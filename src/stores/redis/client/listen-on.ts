import type { Redis } from 'ioredis';

/**
 * Listens on a channel with a client of its own, again whenever it connects. After each connection it calls `onNews` by itself:
 * what was published in between is lost.
 */
export function listenOn(client: Redis, channel: string, onNews: () => void): () => void {
  // Without a listener ioredis prints errors. The calls that need Redis tell what is wrong with it.
  client.on('error', () => undefined);
  client.on('message', onNews);
  client.on('ready', () => {
    subscribe().then(onNews, () => undefined);
  });
  return () => client.disconnect();

  /** Only where a Redis answers: another server may say to SUBSCRIBE what ends the process (ioredis 6.0.0). */
  async function subscribe(): Promise<void> {
    if ((await client.ping()) === 'PONG') await client.subscribe(channel);
  }
}
