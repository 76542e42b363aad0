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
    client.subscribe(channel).then(onNews, () => undefined);
  });
  return () => client.disconnect();
}
