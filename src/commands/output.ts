import { fstatSync, readSync, statSync } from 'node:fs';
import { codeOf } from '../content/error-code.ts';
import { endedBy, exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

type Output = Pick<Terminal, 'stdout' | 'stderr'>;

/**
 * Ends the process when standard output cannot be written, in one place for all commands. Of a reader that has gone, as `head` does
 * once it has what it wanted, nothing is said.
 */
export function watchOutput({ stdout, stderr }: Output): void {
  stdout.on('error', (error) => {
    if (codeOf(error) === 'EPIPE') process.exit(endedBy.SIGPIPE);
    stderr.write(`gatehouse: standard output cannot be written (${nameOf(error)})\n`);
    process.exit(exitCodes.output);
  });
  // Nobody is left to be told, and what was asked for is done all the same.
  stderr.on('error', () => undefined);
}

/** Whether a secret can be shown, before it is made. Says so if not. */
export function canShowSecret({ stderr }: Pick<Output, 'stderr'>): boolean {
  if (!wasClosed(process.stdout.fd)) return true;
  const nobody = 'standard output is closed, and nobody would see the new secret: nothing was done';
  stderr.write(`gatehouse: ${nobody}\n`);
  return false;
}

/**
 * In place of what is closed when it begins Node opens /dev/null, for reading too, as no redirection of a shell does. A program that
 * throws the output away, such as Python with DEVNULL, may do so as well: nobody sees it then, but only for a secret is that a loss.
 */
function wasClosed(descriptor: number): boolean {
  if (fstatSync(descriptor).rdev !== statSync('/dev/null', { throwIfNoEntry: false })?.rdev) return false;
  try {
    readSync(descriptor, Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

/** Writes a secret that is shown only this once. When it could not be shown that is said, even if its reader has gone. */
export function writeSecret(text: string, keyId: string, { stdout, stderr }: Output): void {
  stdout.write(text, (error) => {
    if (!error) return;
    const lost = `the new secret of key ${keyId} could not be shown (${nameOf(error)})`;
    stderr.write(`gatehouse: ${lost}: rotate the key to get another\n`);
    process.exit(exitCodes.output);
  });
}

function nameOf(error: Error): string {
  return codeOf(error) ?? error.name;
}
