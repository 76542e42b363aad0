import type { Client } from './client/client.ts';
import { isRefusal } from './failures.ts';
import type { Script } from './scripts.ts';

/** Sends something; `waiting` tells whether anybody still waits for the answer. */
export type Command<T> = (client: Client, waiting: () => boolean) => Promise<T>;

/** The arguments of a script. Where callers share calls none is empty or has a space in it. */
export type Words = readonly (string | number)[];

/** The command that runs a script: by its SHA-1, or in full where Redis does not know that. */
export function callOf(script: Script, keys: readonly string[], args: Words): Command<unknown> {
  const words = [...keys, ...args];
  return (client, waiting) =>
    client.evalsha(script.sha, keys.length, ...words).catch((thrown: unknown) => {
      if (!isRefusal(thrown, 'NOSCRIPT') || !waiting()) throw thrown;
      return client.eval(script.source, keys.length, ...words);
    });
}
