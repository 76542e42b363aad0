import { realpathSync, statSync, type Stats } from 'node:fs';
import { unavailable } from '../store-unavailable.ts';

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

/** The file at a path, and what belongs to it, as it was at one moment. */
interface Seen {
  readonly file: Stats | undefined;
  readonly log: Stats | undefined;
  readonly index: Stats | undefined;
}

export function lookAt(path: string): Seen {
  const { log, index } = filesBeside(path);
  return { file: statOf(path), log: statOf(log), index: statOf(index) };
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/**
 * Whether a file is still the same one. Another volume may use the same inode number, as may a later file: then the birth time
 * tells. Where there is none Node gives the time of the last change.
 */
export function isSame(now: FileMarks | undefined, before: FileMarks | undefined): boolean {
  if (now === undefined || before === undefined) return false;
  if (now.dev !== before.dev || now.ino !== before.ino) return false;
  return now.birthtimeMs === before.birthtimeMs || before.birthtimeMs === before.ctimeMs;
}

type FileMarks = Pick<Stats, 'dev' | 'ino' | 'birthtimeMs' | 'ctimeMs'>;

/**
 * When a file is moved away or deleted SQLite leaves its log in place, and opening the file that replaced it would copy that log
 * into it: nothing in a log says which file it belongs to. Removing it is left to people, because the file may come back.
 */
export function refuseForeignLog(path: string, seen: Seen): void {
  const now = lookAt(path);
  if (now.file === undefined || isSame(now.file, seen.file) || !isSame(now.log, seen.log)) return;
  throw unavailable(
    `${path} was replaced, and ${filesBeside(path).log} belongs to the file before it: remove it`,
  );
}
