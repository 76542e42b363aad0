import { accessSync, chmodSync, constants, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../content/error-code.ts';

/**
 * SQLite opens even a file that may not be written to, and says so only at the first write. The -wal and -shm that it makes get
 * the mode of the file, and nobody could write through them once that is fixed. Throws before it comes to that.
 */
export function refuseReadOnly(path: string): void {
  // SQLite follows links, too: what it makes is beside the file itself.
  const file = realpathSync(path);
  const why = whyNoWriting(file);
  if (why !== undefined) throw new Error(`it may not be written to (${why})`);
  for (const end of ['-wal', '-shm']) mend(file + end, file);
}

/** Gives what an earlier opening left behind the mode of the file, as SQLite does when it makes it. */
function mend(beside: string, file: string): void {
  const why = whyNoWriting(beside);
  if (why === undefined) return;
  if (why === 'ENOENT') {
    refuseReadOnlyFolder(dirname(file));
    return;
  }
  try {
    chmodSync(beside, statSync(file).mode);
  } catch {
    throw new Error(`${beside} may not be written to (${why})`);
  }
}

function refuseReadOnlyFolder(folder: string): void {
  const why = whyNoWriting(folder);
  if (why !== undefined) throw new Error(`in ${folder} nothing may be made (${why})`);
}

/** Only asks. Closing a file that this process has open in SQLite would drop SQLite's locks. */
function whyNoWriting(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error) ?? 'unknown';
  }
}
