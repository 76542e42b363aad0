import { statfsSync, type StatsFs } from 'node:fs';

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
