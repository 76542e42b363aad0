import { access, constants } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { SpoolUnavailable } from '../uploads/spool.ts';

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
