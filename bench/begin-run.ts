import { once } from 'node:events';
import { mkdtempSync, rmSync, statfsSync, type StatsFs } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { cores, main, whyNotHere } from './machine.ts';
import { runToEnd } from './processes.ts';

/** Throws where nothing can be measured. Makes a folder for this run alone, which is gone when the process ends, by Ctrl-C too. */
export async function beginRun(): Promise<string> {
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
