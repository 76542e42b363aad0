import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script and the SHA-1 by which Redis knows it once it has seen it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

const shared = read('step');

/** The scripts that change the ledger, one for each kind of step, those for keys, and the probe. */
export const scripts = {
  draw: script(shared + read('draw')),
  add: script(shared + read('add')),
  cancel: script(shared + read('cancel')),
  time: script(read('time')),
  usage: script(read('usage')),
  reset: script(read('reset')),
  pace: script(read('pace')),
  enter: script(read('enter')),
  stay: script(read('stay')),
  findKey: script(read('find-key')),
  changeKey: script(read('change-key')),
  addKeys: script(read('add-keys')),
  noteUses: script(read('note-uses')),
  keyChanges: script(read('key-changes')),
  probe: script(read('probe')),
} as const satisfies Record<string, Script>;

function read(name: string): string {
  return readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8');
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
