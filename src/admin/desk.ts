import type { Config } from '../config/config.ts';
import { createKeyBook, type KeyBook } from '../keys/key-book.ts';
import { createKeyRules } from '../keys/key-rules.ts';
import { createUsageBook, type UsageBook } from '../quota/usage-book.ts';
import type { Store } from '../stores/store.ts';

/** What those who administer a gateway work with, over HTTP and at a terminal. */
export interface Desk {
  readonly book: KeyBook;
  readonly usage: UsageBook;
  readonly config: Config;
}

/** Where their books lie. */
export type DeskStore = Pick<Store, 'keys' | 'ledger'>;

/** Opens the books of a store under a configuration. */
export function openDesk(config: Config, store: DeskStore): Desk {
  return {
    config,
    book: createKeyBook({ store: store.keys, rules: createKeyRules(config), now: Date.now }),
    usage: createUsageBook({ config, store }),
  };
}
