import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

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

const step = read('step');
const forMany = read('many');

/** The scripts that change the ledger, one for each kind of step, those for keys, and the probe. */
export const scripts = {
  draw: shared(step + read('draw')),
  add: shared(step + read('add')),
  cancel: shared(step + read('cancel')),
  time: script(read('time')),
  usage: script(read('usage')),
  reset: script(read('reset')),
  takeCells: shared(read('take-cells')),
  enter: shared(read('enter')),
  findKey: shared(read('find-key')),
  changeKey: script(read('change-key')),
  addKeys: script(read('add-keys')),
  noteUses: script(read('note-uses')),
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
