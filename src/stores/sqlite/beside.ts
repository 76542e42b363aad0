import { realpathSync } from 'node:fs';

/**
 * Where SQLite writes what is not yet in the file, and where it keeps, for all processes, what is in that log, and their locks. It
 * follows links: both are beside the file itself.
 */
export function besideOf(path: string): { readonly log: string; readonly index: string } {
  const file = followLinks(path);
  return { log: `${file}-wal`, index: `${file}-shm` };
}

/** The path itself where there is nothing. */
function followLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
