import type { Redis, RedisOptions } from 'ioredis';

/** The answers to a password where Redis has none, or knows no users yet. ioredis goes on without it. */
const needlessPassword =
  /no password is set|without any password configured for the default user|wrong number of arguments for 'auth'/;

/** Has a client of ioredis 6.0.0 greet Redis without a word on the console, which would end amid the log. */
export function mindGreeting(client: Redis): Redis {
  const info = client.info.bind(client);
  const auth = client.auth.bind(client);
  const duplicate = client.duplicate.bind(client);
  Object.assign(client, {
    // It asks whether Redis is loading its data. Where it may not ask, it takes that for a no. A yes it keeps to itself.
    info: (answer: (error?: Error | null, text?: unknown) => void) =>
      info((error, text) => {
        if (isLoading(text)) client.emit('loading');
        const policy = evictionOf(text);
        if (policy !== undefined) client.emit('evicting', policy);
        if (error?.message.includes('NOPERM') === true) answer(null, '');
        else answer(error, text);
      }),
    auth: (...words: [string]) =>
      auth(...words).catch((error: Error) => {
        if (!needlessPassword.test(error.message)) throw error;
      }),
    // A cluster asks through one where its slots are, each time anew.
    duplicate: (options: Partial<RedisOptions>) => mindGreeting(duplicate(options)),
  });
  return client.on('ready', () => introduce(client));
}

/** What takes our connection may answer with anything. */
function isLoading(text: unknown): boolean {
  return typeof text === 'string' && text.includes('\nloading:1');
}

/** The policy by which Redis would throw away what is ours once its memory is full; undefined for one that throws nothing away. */
function evictionOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/\nmaxmemory:[1-9]/.test(text)) return undefined;
  const policy = /\nmaxmemory_policy:([a-z-]+)/.exec(text)?.[1];
  return policy === 'noeviction' ? undefined : policy;
}

/**
 * Tells Redis whose connection it is, for people who look at a list of them. The option of ioredis sends it first of all, and
 * keeps the answer to itself: but a Redis that takes no more clients says so to the first command, and then closes.
 */
function introduce(client: Redis): void {
  client.client('SETNAME', 'gatehouse').catch(() => undefined);
}
