import { userInfo } from 'node:os';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import { ConfigErrors, ConfigUnreadable } from '../../config/problems.ts';
import { exitCodes } from '../../exit-codes.ts';
import { createKeyBook, type KeyBook } from '../../keys/key-book.ts';
import { KeyProblem } from '../../keys/key-problem.ts';
import { createKeyRules } from '../../keys/key-rules.ts';
import { StoreUnavailable } from '../../stores/ledger.ts';
import { openStore } from '../../stores/open-store.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

/** What every command about keys is called with. */
export interface KeysOptions {
  readonly config: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What a command works with. */
export interface Desk {
  readonly book: KeyBook;
  readonly config: Config;
  readonly terminal: Terminal;
  readonly by: { readonly actor: string };
}

/** Nobody waits for a request here, so a store may take its time. */
const deadlineMs = 10_000;

/** Opens the key book of a configuration, lets the command work, and says in one line why it could not. */
export async function atDesk(file: string, work: (desk: Desk) => Promise<number>): Promise<number> {
  const terminal = processTerminal();
  try {
    const config = loadConfig(file, process.env);
    const store = await openStore(config.store, { deadlineMs });
    try {
      await store.ping();
      const book = createKeyBook({ store: store.keys, rules: createKeyRules(config), now: Date.now });
      return await work({ book, config, terminal, by: { actor: actor() } });
    } finally {
      await store.close();
    }
  } catch (error) {
    return explain(error, terminal);
  }
}

/** Says what is wrong, one line for each thing, and gives the exit code for it. */
export function explain(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof KeyProblem) {
    const lines = error.faults.map(({ field, message }) => `${field} ${message}`.trim());
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
  if (error instanceof ConfigUnreadable) {
    stderr.write(`gatehouse: ${error.message}\n`);
    return exitCodes.noInput;
  }
  if (error instanceof ConfigErrors) {
    stderr.write(`${error.message}\ngatehouse: the configuration is not valid, nothing was done\n`);
    return exitCodes.config;
  }
  throw error;
}

function actor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // In a container the user may have no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
