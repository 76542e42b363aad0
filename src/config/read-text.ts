import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { codeOf } from '../content/error-code.ts';

/** The largest configuration, and the largest file that `${file:…}` takes in. */
export const textBytesMax = 1024 * 1024;

/** Why a file could not be used, in words that follow its name: `cannot be read: there is no such file`. */
export class UnusableText extends Error {
  /** Whether the file was there and open, so that its content is at fault. */
  readonly opened: boolean;

  constructor(message: string, opened: boolean) {
    super(message);
    this.name = 'UnusableText';
    this.opened = opened;
  }
}

/** A whole file as text. At most one byte over `textBytesMax` is read, whatever the path points to. */
export function readText(path: string): string {
  const bytes = readBytes(path);
  if (bytes.length > textBytesMax) throw new UnusableText('is larger than 1MB', true);
  // UTF-16 without a byte order mark is valid UTF-8 as well, with NUL beside each letter.
  if (bytes.subarray(0, 2).includes(0)) throw new UnusableText(notUtf8, true);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnusableText(notUtf8, true);
  }
}

const notUtf8 = 'is not UTF-8 text';

function readBytes(path: string): Buffer {
  let descriptor: number | undefined;
  try {
    if (mayNeverEnd(path)) throw new UnusableText('cannot be read: it is not a regular file', false);
    descriptor = openSync(path, 'r');
    const bytes = Buffer.alloc(textBytesMax + 1);
    let filled = 0;
    for (let read = -1; read !== 0 && filled < bytes.length; filled += read) {
      read = readSync(descriptor, bytes, filled, bytes.length - filled, null);
    }
    return bytes.subarray(0, filled);
  } catch (error) {
    if (error instanceof UnusableText) throw error;
    throw new UnusableText(`cannot be read: ${whyUnreadable(error)}`, false);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/**
 * Whether reading it could wait for ever, deaf to signals, as with a named pipe that nobody writes to. A file handed over open,
 * as a shell does for `<(…)`, has its writer.
 */
function mayNeverEnd(path: string): boolean {
  const kind = statSync(path);
  return !kind.isFile() && !kind.isDirectory() && !handedOver.test(path);
}

const handedOver = /^\/dev\/stdin$|^\/(?:dev|proc\/self)\/fd\/\d+$/;

/** What the system says of a file, in words. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error) ?? 'unknown';
  return reasons.get(code) ?? `the system says ${code}`;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a directory'],
  ['ENOTDIR', 'a part of its path is not a directory'],
]);
