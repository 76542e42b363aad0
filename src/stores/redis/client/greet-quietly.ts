import type { Redis, RedisOptions } from 'ioredis';
import { connectionClosed, NoSlots } from '../failures.ts';
import { endWhenSilent } from './end-when-silent.ts';

/** The answers to a password where Redis has none, or does not know users yet. ioredis goes on without it. */
const needlessPassword =
  /no password is set|without any password configured for the default user|wrong number of arguments for 'auth'/;

/**
 * Makes a client of ioredis 6.0.0 greet Redis without printing to the console, which would end up amid the log, and give up a
 * connection on which Redis then says nothing.
 */
export function greetQuietly(client: Redis): Redis {
  const info = client.info.bind(client);
  const auth = client.auth.bind(client);
  const duplicate = client.duplicate.bind(client);
  Object.assign(client, {
    // By this the client asks whether Redis is loading its data, and tells nobody if it is. If it may not ask, it is not.
    info: (answer: (error?: Error | null, text?: unknown) => void) =>
      info((error, text) => {
        // What answers need not be a Redis, nor its answer a text.
        const said = typeof text === 'string' ? text : '';
        if (said.includes('\nloading:1')) client.emit('loading');
        const policy = evictionOf(said);
        if (policy !== undefined) client.emit('evicting', policy);
        if (error?.message.includes('NOPERM') === true) answer(null, '');
        else answer(error, text);
      }),
    auth: (...words: [string]) =>
      auth(...words).catch((error: Error) => {
        if (!needlessPassword.test(error.message)) throw error;
      }),
    // A cluster asks where its slots are through a new duplicate each time.
    duplicate: (options: Partial<RedisOptions>) => tellWhyClosed(greetQuietly(duplicate(options))),
  });
  // Tells Redis whose connection it is, for people who list connections. The option of ioredis sends this first of all, and hides
  // the answer: but a Redis that takes no more clients says so to the first command, and then closes.
  return endWhenSilent(client).on('ready', () => {
    client.client('SETNAME', 'gatehouse').catch(() => undefined);
  });
}

/**
 * Has the question of a cluster fail with why there is no connection, which the cluster ignores, and not as "closed"; and with an
 * answer that names no slots, which ioredis would read as if it did, outside of all that catches what it throws.
 */
function tellWhyClosed(client: Redis): Redis {
  const ask = client.cluster.bind(client);
  let why: Error | undefined;
  client.on('error', (error: Error) => (why = error));
  return Object.assign(client, {
    cluster: (what: 'SLOTS', answer: (error?: Error | null, slots?: unknown) => void) =>
      ask(what, (error, slots) => {
        if (error?.message === connectionClosed) answer(why ?? error);
        else if (error || isSlotMap(slots)) answer(error, slots);
        else answer(new NoSlots());
      }),
  });
}

const slotsMax = 16_384;

/** Whether this is a list of ranges of slots, each with the nodes that serve it. */
function isSlotMap(answer: unknown): boolean {
  return Array.isArray(answer) && answer.every(isSlotRange);
}

function isSlotRange(range: unknown): boolean {
  if (!Array.isArray(range)) return false;
  const [first, last, ...nodes]: readonly unknown[] = range;
  const isRange =
    Number.isInteger(first) && Number.isInteger(last) && Number(first) >= 0 && Number(last) < slotsMax;
  return isRange && nodes.every(Array.isArray);
}

/** The policy by which Redis would evict our data once its memory is full; undefined for one that evicts nothing. */
function evictionOf(info: string): string | undefined {
  if (!/\nmaxmemory:[1-9]/.test(info)) return undefined;
  const policy = /\nmaxmemory_policy:([a-z-]+)/.exec(info)?.[1];
  return policy === 'noeviction' ? undefined : policy;
}
