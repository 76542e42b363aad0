import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Client } from './client/client.ts';
import { isRefusal } from './failures.ts';

/** A Lua script and the SHA-1 by which Redis knows it once it has seen it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** A script that many call at a time: requests that wait for it, or for what they leave behind. */
export interface SharedScript extends Script {
  /** Does the same for all callers of one turn. */
  readonly many: Script;
}

const clock = read('clock');
const counters = clock + read('counters');
const step = counters + read('step');
const leased = counters + read('leased');
const forMany = read('many');

/** The scripts that change the ledger, one for each kind of step, those for keys, and the probe. */
export const scripts = {
  draw: shared(step + read('draw')),
  add: shared(step + read('add')),
  cancel: shared(step + read('cancel')),
  time: script(clock + read('time')),
  usage: script(leased + read('usage')),
  setUsage: script(leased + read('set-usage')),
  takeCells: shared(clock + read('take-cells')),
  enter: shared(clock + read('enter')),
  findKey: shared(read('find-key')),
  changeKey: script(read('change-key')),
  addKeys: script(read('add-keys')),
  noteUses: script(read('note-uses')),
  addAudit: script(read('add-audit')),
  keyChanges: script(read('key-changes')),
  probe: script(read('probe')),
} as const satisfies Record<string, Script>;

function read(name: string): string {
  return readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8');
}

function shared(source: string): SharedScript {
  return { ...script(source), many: script(`local function run(KEYS, ARGV)\n${source}\nend\n${forMany}`) };
}

function script(source: string): Script {
  return { source, sha: hash('sha1', source) };
}

/** Sends something; `waiting` tells whether anybody still waits for the answer. */
export type Command<T> = (client: Client, waiting: () => boolean) => Promise<T>;

/** The arguments of a script. Where callers share calls none is empty or has a space in it. */
export type Words = readonly (string | number)[];

/** The command that runs a script: by its SHA-1, or in full where Redis does not know that. */
export function callOf({ sha, source }: Script, keys: readonly string[], args: Words): Command<unknown> {
  const words = [...keys, ...args];
  return (client, waiting) =>
    client.evalsha(sha, keys.length, ...words).catch((thrown: unknown) => {
      if (!isRefusal(thrown, 'NOSCRIPT') || !waiting()) throw thrown;
      return client.eval(source, keys.length, ...words);
    });
}
