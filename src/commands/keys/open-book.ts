import { userInfo } from 'node:os';
import type { Config } from '../../config/config.ts';
import { createKeyBook, type KeyBook } from '../../keys/key-book.ts';
import { createKeyRules } from '../../keys/key-rules.ts';
import { atDesk, type DeskOptions } from '../desk.ts';
import type { Terminal } from '../terminal.ts';

/** What every command about keys is called with. */
export interface KeysOptions {
  readonly config: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What a command about keys works with. */
export interface OpenBook {
  readonly book: KeyBook;
  readonly config: Config;
  readonly terminal: Terminal;
  readonly by: { readonly actor: string };
}

/** Opens the key book of a configuration and lets the command work, as `atDesk` does. */
export function openBook(options: DeskOptions, work: (open: OpenBook) => Promise<number>): Promise<number> {
  return atDesk(options, async ({ config, store, terminal }) => {
    const book = createKeyBook({ store: store.keys, rules: createKeyRules(config), now: Date.now });
    return await work({ book, config, terminal, by: { actor: actor() } });
  });
}

function actor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // In a container the user may have no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
