import { ConfigErrors, ConfigUnreadable } from '../config/problems.ts';
import { exitCodes } from './exit-codes.ts';

/** Says on standard error what is wrong with the configuration and what came of it, and returns the exit code for it. */
export function explainConfig(
  error: unknown,
  { undone, stderr }: { readonly undone: 'started' | 'done'; readonly stderr: NodeJS.WritableStream },
): number {
  if (error instanceof ConfigUnreadable) {
    stderr.write(`gatehouse: ${error.message}\n`);
    return exitCodes.noInput;
  }
  if (error instanceof ConfigErrors) {
    stderr.write(`${error.message}\ngatehouse: the configuration is not valid, nothing was ${undone}\n`);
    return exitCodes.config;
  }
  throw error;
}
