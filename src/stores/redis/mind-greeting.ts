import type { Redis } from 'ioredis';

/** Minds what a client of ioredis 6.0.0 says to Redis once it is connected. */
export function mindGreeting(client: Redis): Redis {
  return client.on('ready', () => introduce(client));
}

/**
 * Tells Redis whose connection it is, for people who look at a list of them. The option of ioredis sends it first of all, and
 * keeps the answer to itself: but a Redis that takes no more clients says so to the first command, and then closes.
 */
function introduce(client: Redis): void {
  client.client('SETNAME', 'gatehouse').catch(() => undefined);
}
