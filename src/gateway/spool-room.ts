import { access, constants } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { createSpoolRoom, type SpoolRoom, SpoolUnavailable } from '../uploads/spool.ts';

/** A larger upload waits in a file: the system keeps it in memory while there is room, and frees that when there is not. */
const spoolMemoryEachMax = 128 * 1024;

/** Checks at the start, not at the first upload, that the folder takes files. Rejects with `SpoolUnavailable`. */
export async function checkSpool({ spool, routes }: Config): Promise<void> {
  const used = routes.some(({ body }) => body.kind === 'upload' && body.upload.forward === 'whole');
  if (!used) return;
  try {
    await access(spool.directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new SpoolUnavailable(spool.directory, cause);
  }
}

/** Makes the room in which the uploads of this process wait. */
export function openSpoolRoom({ spool }: Config): SpoolRoom {
  return createSpoolRoom({
    memoryEachMax: spoolMemoryEachMax,
    memoryMax: spool.memory,
    diskMax: spool.disk,
    directory: spool.directory,
  });
}
