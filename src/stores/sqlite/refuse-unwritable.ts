import { accessSync, chmodSync, constants, statfsSync, statSync, type StatsFs } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../content/error-code.ts';
import { filesBeside } from './seen-files.ts';

/**
 * SQLite opens even a file that may not be written to, and says so only at the first write. The -wal and -shm that it makes get
 * the mode of the file, and nobody could write through them once that is fixed. Throws before it comes to that.
 */
export function refuseReadOnly(path: string): void {
  const why = whyNoWriting(path);
  if (why !== undefined) throw new Error(`it may not be written to (${why})`);
  for (const beside of Object.values(filesBeside(path))) makeWritable(beside, path);
}

/** Gives what an earlier opening left behind the mode of the file, as SQLite does when it makes it. */
function makeWritable(beside: string, file: string): void {
  const why = whyNoWriting(beside);
  if (why === undefined) return;
  if (why === 'ENOENT') {
    refuseReadOnlyFolder(dirname(beside));
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

export const noRoomLeft = 'there is no room left';

/** SQLite makes sure of room for the -shm by writing one byte in each of its pages. */
const shmPageBytes = 4096;
/** More than it takes for a log of 128 MB. */
const shmBytesMax = 524_288;

/**
 * SQLite writes the -shm through memory, so a page for which the disk has no room ends the process with SIGBUS. A file system with
 * blocks as large as such a page has the room once SQLite has made sure of it; those on small volumes have smaller ones. Throws
 * before it comes to that.
 */
export function refuseFull(path: string): void {
  if (lacksRoom(statfsSync(path))) throw new Error(noRoomLeft);
}

/** Whether SQLite might find no room for the -shm, though it has made sure of it. Some file systems do not tell: all is 0. */
export function lacksRoom({ bsize, bavail }: Pick<StatsFs, 'bsize' | 'bavail'>): boolean {
  return bsize > 0 && bsize < shmPageBytes && bsize * bavail < shmBytesMax;
}
