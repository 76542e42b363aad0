import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { codeOf } from '../../content/error-code.ts';
import { describeFailure } from './failures.ts';
import { noRoomLeft } from './refuse-unwritable.ts';
import { filesBeside } from './seen-files.ts';

/** Makes the file, still empty, and its folder. False when it is there already. */
export function createDatabase(path: string): boolean {
  try {
    refuseLongName(path);
    refuseLogAlone(path);
    return createFile(path);
  } catch (error) {
    throw describeFailure(whyNotMade(error), `cannot open ${path}`);
  }
}

/** Where those of the files that SQLite makes beside it would be too long, an empty file would be left behind. */
function refuseLongName(path: string): void {
  const longest = `${path}-journal`;
  if (Buffer.byteLength(basename(longest)) > nameBytesMax || Buffer.byteLength(longest) > pathBytesMax)
    throw new Error(nameTooLong);
}

/** What file systems take, and what SQLite takes of a whole path. */
const nameBytesMax = 255;
const pathBytesMax = 512;
const nameTooLong = 'its name is too long';

/**
 * SQLite deletes a log that lies beside an empty file. The file that it belongs to may come back, and would lack all that was not
 * yet copied. The log is looked at first, because a new file is never empty once it has one: another process may be making both.
 */
function refuseLogAlone(path: string): void {
  const { log } = filesBeside(path);
  if (sizeOf(log) > 0 && isEmpty(sizeOf(path)))
    throw new Error(`only its log ${log} is there: put the file back, or remove the log to begin anew`);
}

/** SQLite takes a file of one byte for an empty one, too: `echo > file` makes it. */
export function isEmpty(bytes: number): boolean {
  return bytes <= 1;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** In words: the system's own message names its calls, and the path once more. */
function whyNotMade(error: unknown): unknown {
  const why = reasonsNotMade.get(codeOf(error) ?? '');
  return why === undefined ? error : new Error(why);
}

const reasonsNotMade: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'it may not be made there'],
  ['EPERM', 'it may not be made there'],
  ['ENOENT', 'its folder takes no files'], // such as those below /proc
  ['ENOTDIR', 'a part of its path is not a directory'],
  ['ENAMETOOLONG', nameTooLong],
  ['EROFS', 'its folder is read-only'],
  ['ENOSPC', noRoomLeft],
]);

function createFile(path: string): boolean {
  makeFolder(dirname(path));
  try {
    // Only a new file is opened here. Closing a descriptor of a file that this process has open in SQLite would drop SQLite's
    // POSIX locks (https://sqlite.org/howtocorrupt.html §2.2). The -wal and -shm files inherit this mode.
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** One level at a time: `recursive` never returns for a folder below /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
