import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { memory } from './relaunch.ts';

/**
 * Run by `npm ci`, with the folder of the compile cache in NODE_COMPILE_CACHE, so that the first start finds it filled, also where
 * it can add nothing. V8 takes what was compiled with the same flags only, so it is done once for the commands and once for `serve`.
 * A worker loads all that there is, and ends because nobody leads it.
 */
const main = fileURLToPath(new URL('../main.ts', import.meta.url));
for (const flags of [[], memory.flags]) {
  spawnSync(process.execPath, [...flags, main, 'worker'], { stdio: 'ignore', timeout: 60_000 });
}
