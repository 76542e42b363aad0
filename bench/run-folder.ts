import { mkdtempSync, rmSync, statfsSync, type StatsFs } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';

/** For the log of one load, or a million keys in SQLite. On a full disk some subjects end, and others go on without their log. */
const neededGb = 1;

/** Makes a folder for this run alone. It is gone when this process ends, also by Ctrl-C. */
export function makeRunFolder(disk: Pick<StatsFs, 'bavail' | 'bsize'> = statfsSync(tmpdir())): string {
  if (disk.bavail * disk.bsize < neededGb * 1024 ** 3)
    throw new CannotRun(
      `The bench needs ${neededGb} GB of free space in ${tmpdir()}; TMPDIR names another folder.`,
    );
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
