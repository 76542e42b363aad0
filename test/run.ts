import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureRedisServer } from './install-redis.ts';
import { wholeSuite } from './whole-suite.ts';

/** Shared by all test files and all gateways that they start, so that each is compiled once. */
const compileCache = fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url));

const noForcedColours = new URL('helpers/no-forced-colours.ts', import.meta.url).href;

/** Ten times what all tests take. */
const wholeRunMs = 30 * 60_000;

/** Runs every test, or those in the files and folders that are named; options go to `node --test`. */
function runTests(args: readonly string[]): number {
  if (!ensureRedisServer()) {
    console.error(
      'The tests need redis-server, and it could not be installed. Install it (on Debian and Ubuntu:',
    );
    console.error(
      'sudo apt-get install redis-server; on macOS: brew install redis) and run the tests again.',
    );
    return 1;
  }
  const options = args.filter((arg) => arg.startsWith('-'));
  const paths = args.filter((arg) => !arg.startsWith('-')).map(testsIn);
  const run = spawnSync(
    process.execPath,
    [
      '--test',
      `--import=${noForcedColours}`,
      // All tests may cost 360 seconds of processors, three minutes on two, and should cost 280. Nearly half of it is starts of
      // processes. Two thirds of the time of a file is waiting: played on two cores they would stand still for a fifth of the time
      // with four more at a time than there are cores, with six more for a twelfth.
      `--test-concurrency=${availableParallelism() + 6}`,
      // A test that hangs fails with its name.
      '--test-timeout=300000',
      ...options,
      ...(paths.length > 0 ? paths : wholeSuite()),
    ],
    // A file that never ends is named as well: SIGTERM makes the runner say what it was interrupted in.
    { stdio: 'inherit', env: { ...process.env, NODE_COMPILE_CACHE: compileCache }, timeout: wholeRunMs },
  );
  return run.error === undefined ? (run.status ?? 1) : 1;
}

function testsIn(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, '**/*.test.ts') : path;
}

process.exitCode = runTests(process.argv.slice(2));
