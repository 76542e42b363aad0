import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

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
 * Run by `npm ci`, so that the first start finds the compile cache (NODE_COMPILE_CACHE) filled, even where it can add nothing: the
 * compiler of TypeScript takes 10 MB for the life of a process. A worker loads nearly everything, and ends as no process leads it.
 */
spawnSync(process.execPath, [...imports, main, 'worker'], { stdio: 'ignore', timeout: 60_000 });

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
