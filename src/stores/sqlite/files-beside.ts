import { realpathSync } from 'node:fs';

/**
 * The write-ahead log of a database (-wal), and the index of that log with the locks of all processes (-shm). SQLite follows links:
 * both are beside the file itself.
 */
export function filesBeside(path: string): { readonly log: string; readonly index: string } {
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
