import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, type StatsFs } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { cores, main, root, whyNotHere } from './machine.ts';
import { runToEnd } from './processes.ts';

const keepCompiled = join(root, 'src/commands/keep-compiled.ts');
/** Where a gateway keeps it unless told otherwise. */
const compileCache = join(root, 'node_modules/.cache/gatehouse');

/**
 * Throws where nothing can be measured, or one of these files could not be written in the end. Makes a folder for this run alone, which is
 * gone when the process ends, by Ctrl-C too.
 */
export async function beginRun(results: readonly string[]): Promise<string> {
  for (const file of results) needWritable(file);
  await needGateway();
  await needAlone(cores.subject);
  const folder = makeFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function makeFolder(): string {
  try {
    needSpace(statfsSync(tmpdir()));
    return mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  } catch (error) {
    if (error instanceof CannotRun || !(error instanceof Error)) throw error;
    throw new CannotRun(`The bench cannot write temporary files (${error.message}); ${advice}`);
  }
}

async function needGateway(): Promise<void> {
  const whyNot = whyNotHere();
  if (whyNot !== undefined) throw new CannotRun(whyNot);
  const { status, stderr } = await runToEnd(process.execPath, [main, '--version'], {});
  if (status !== 0)
    throw new CannotRun(`The gateway does not start here; after \`npm ci\` it should.\n${stderr}`);
  // Its compiled code is kept by `npm ci`, and outdated where a file has changed since: the first gateway would compile all of it
  // again, which takes 20 MB for its life.
  await runToEnd(process.execPath, [keepCompiled], {
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
  });
}

/** Nobody waits an hour for what cannot be kept. */
export function needWritable(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    closeSync(openSync(file, 'a'));
  } catch (error) {
    throw new CannotRun(`The results could not be written (${(error as Error).message})`);
  }
}

/**
 * Throws where another bench is running on this core: each would measure the other. The name that a bench takes is no file
 * (unix(7), abstract addresses), so it is free again however the bench ends.
 */
export async function needAlone(core: string): Promise<void> {
  const name = createServer().unref();
  name.listen(`\0gatehouse-bench on core ${core}`);
  try {
    await once(name, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new CannotRun('Another bench is running on this core: each would measure the other.');
  }
}

/** For the log of one load, or a million keys in SQLite. On a full disk some subjects end, and others go on without their log. */
const neededGb = 1;
const advice = 'TMPDIR names another folder.';

export function needSpace({ bavail, bsize }: Pick<StatsFs, 'bavail' | 'bsize'>): void {
  if (bavail * bsize < neededGb * 1024 ** 3)
    throw new CannotRun(`The bench needs ${neededGb} GB of free space in ${tmpdir()}; ${advice}`);
}
