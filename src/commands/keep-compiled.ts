import { spawnSync } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Sources in a checkout, what was built of them in an image. */
const ending = extname(import.meta.url);
const main = pathOf('../main');

/** What is loaded only where it is needed. */
const others = [
  './program',
  './serve',
  './workers/start-workers',
  './check',
  './usage',
  './completion',
  './keys/import',
  './keys/export',
  './keys/change',
  './keys/read',
  './keys/verify',
  './self-test',
  '../stores/redis/open-redis',
];

const imports = others.flatMap((file) => ['--import', pathOf(file)]);

/**
 * Run by `npm ci`, and where the image is built, so that the first start finds the compile cache (NODE_COMPILE_CACHE) filled, even
 * where it can add nothing: the compiler of TypeScript takes 10 MB for the life of a process. A worker loads nearly everything, and
 * ends as no process leads it.
 */
spawnSync(process.execPath, [...imports, main, 'worker'], { stdio: 'ignore', timeout: 60_000 });

function pathOf(name: string): string {
  return fileURLToPath(new URL(`${name}${ending}`, import.meta.url));
}
