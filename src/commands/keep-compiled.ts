import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { launch } from './relaunch.ts';

const main = pathOf('../main.ts');

/** What is loaded only where it is needed. */
const others = [
  './serve.ts',
  './workers/start-workers.ts',
  './check.ts',
  './usage.ts',
  './completion.ts',
  './keys/import.ts',
  './keys/export.ts',
  './keys/change.ts',
  './keys/read.ts',
  './keys/verify.ts',
  './self-test.ts',
  '../stores/redis/open-redis.ts',
];

const imports = others.flatMap((file) => ['--import', pathOf(file)]);

/**
 * Run by `npm ci`, with the folder of the compile cache in NODE_COMPILE_CACHE, so that the first start finds it filled, even
 * where it can add nothing: the compiler of TypeScript takes 10 MB for the life of a process. V8 accepts only what was compiled
 * with the same flags, so it is done once for the commands and once for `serve`. A worker loads nearly everything, and ends
 * because no process leads it.
 */
for (const flags of [[], launch.flags]) {
  spawnSync(process.execPath, [...flags, ...imports, main, 'worker'], { stdio: 'ignore', timeout: 60_000 });
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
