import { codeOf } from '../content/error-code.ts';
import { endedBy, exitCodes } from './exit-codes.ts';

interface Output {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

/**
 * Ends the process when standard output cannot be written, in one place for all commands. A reader that has gone, as `head` does,
 * has what it wanted: nothing is said, and the exit code is that of SIGPIPE.
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
