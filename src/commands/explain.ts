import { ConfigErrors, ConfigUnreadable } from '../config/problems.ts';
import { KeyProblem } from '../keys/key-problem.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** Says why a command could not do what it was asked, one line per fault, and returns the exit code for it. */
export function explain(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof KeyProblem) {
    const lines = error.faults.map(({ field, message }) => `${flagOf(field)} ${message}`.trim());
    for (const line of lines.length > 0 ? lines : [error.message]) stderr.write(`gatehouse: ${line}\n`);
    return error.code === 'invalid' ? exitCodes.usage : exitCodes.failed;
  }
  if (error instanceof StoreUnavailable) {
    const doubt = error.mayHaveHappened
      ? ' (it may have been done all the same, look before you repeat it)'
      : '';
    stderr.write(`gatehouse: the store cannot be used: ${error.message}${doubt}\n`);
    return exitCodes.store;
  }
  return explainConfig(error, { undone: 'done', stderr });
}

/** What is said behind the name of a configuration that cannot be read: often it is the usual one, and nobody has named it. */
export const whichFile = '(--config FILE names the file)';

/** Says on standard error what is wrong with the configuration and what came of it, and returns the exit code for it. */
export function explainConfig(
  error: unknown,
  { undone, stderr }: { readonly undone: 'started' | 'done'; readonly stderr: NodeJS.WritableStream },
): number {
  if (error instanceof ConfigUnreadable) {
    stderr.write(`gatehouse: ${error.message} ${whichFile}\n`);
    return exitCodes.noInput;
  }
  if (error instanceof ConfigErrors) {
    stderr.write(`${error.message}\ngatehouse: the configuration is not valid, nothing was ${undone}\n`);
    return exitCodes.config;
  }
  throw error;
}

/** Options whose names differ from the field of a key that they give. */
const flags: ReadonlyMap<string, string> = new Map([
  ['expiresAt', '--expires'],
  ['labels', '--label'],
  ['networks', '--network'],
  ['notBefore', '--not-before'],
  ['quotas', '--quota'],
  ['scopes', '--scope'],
]);

/** How a field was given on the command line: `--quota limit` for `quotas[0].limit`. An option, or nothing, stays as it is. */
function flagOf(field: string): string {
  const [, name, below = ''] = /^(\w+)(?:\[\d+\])?(?:\.(.+))?$/.exec(field) ?? [];
  if (name === undefined) return field;
  return `${flags.get(name) ?? `--${name}`} ${below}`.trimEnd();
}
