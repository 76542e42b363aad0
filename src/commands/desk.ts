import { userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { openDesk, type Desk } from '../admin/desk.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { printStore } from '../config/print-store.ts';
import { openStore } from '../stores/open-store.ts';
import { StoreUnavailable, withNothingChanged } from '../stores/store-unavailable.ts';
import type { Store } from '../stores/store.ts';
import { wrapStore } from '../stores/wrap-store.ts';
import { explain } from './explain.ts';
import type { Terminal } from './terminal.ts';

/** What a command that uses the store is called with. */
export interface CommandFlags {
  readonly config: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What it works with. */
export interface TerminalDesk extends Desk {
  readonly store: Store;
  readonly terminal: Terminal;
  readonly by: { readonly actor: string };
}

interface DeskOptions extends Pick<CommandFlags, 'config'> {
  /** Whether a missing SQLite file is made. Default false. */
  readonly create?: boolean;
  /** Whether the command changes nothing. Default false. */
  readonly readOnly?: boolean;
  /** Throws for what cannot be done whatever the store holds: then no store is made either. */
  readonly check?: (config: Config) => void | Promise<void>;
}

/** No request is waiting here, so a store may take its time, and one that is restarting may come back. */
const deadlineMs = 10_000;
const askAgainAfterMs = 200;
/** People who see nothing happen for longer wonder why. */
const sayNothingForMs = 1500;

/**
 * Opens the store of a configuration, lets the command work, and says in one line why it could not. Only a command that makes keys
 * may make the store as well, and says so: the user may be in the wrong folder.
 */
export async function atDesk(
  { config: file, create = false, readOnly = false, check }: DeskOptions,
  work: (desk: TerminalDesk) => Promise<number>,
): Promise<number> {
  const terminal: Terminal = process;
  try {
    const config = loadConfig(file, process.env);
    await check?.(config);
    const store = await openReached(config.store, create, terminal);
    try {
      return await work({ ...openDesk(config, store), store, terminal, by: { actor: actor() } });
    } finally {
      await store.close();
    }
  } catch (error) {
    return explain(readOnly ? withNothingChanged(error) : error, terminal);
  }
}

/** Who the audit log says that it was. */
function actor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // In a container the user may have no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Opens a store and waits until it answers. Who waits for long, then or later, is told so once, and why if that is known. */
async function openReached(
  address: Config['store'],
  create: boolean,
  { stderr }: Pick<Terminal, 'stderr'>,
): Promise<Store> {
  let isTold = false;
  async function telling<T>(work: (onWait: (why: string) => void) => Promise<T>): Promise<T> {
    let reason = '';
    const notice = setTimeout(() => {
      if (!isTold) stderr.write(`gatehouse: waiting for the store (${printStore(address)})${reason}\n`);
      isTold = true;
    }, sayNothingForMs);
    try {
      return await work((why) => (reason = `: ${why}`));
    } finally {
      clearTimeout(notice);
    }
  }
  const store = await telling(async (onWait) => {
    const until = performance.now() + deadlineMs;
    const opened = await openStore(address, {
      deadlineMs,
      create,
      onCreate: (path) => void stderr.write(`gatehouse: a new store was made at ${path}\n`),
    });
    await reach(opened, until, onWait);
    return opened;
  });
  return wrapStore(
    store,
    (_operation, call) =>
      (...args) =>
        telling(() => call(...args)),
  );
}

/** Nothing has been asked of the store yet, so asking again repeats nothing. One that cannot be reached is closed. */
async function reach(store: Store, until: number, onWait: (why: string) => void): Promise<void> {
  for (;;) {
    try {
      return await store.ping();
    } catch (error) {
      const mayWait = error instanceof StoreUnavailable && error.isTemporary && performance.now() < until;
      if (!mayWait) {
        await store.close();
        throw error;
      }
      onWait(error.message);
      await pause(askAgainAfterMs);
    }
  }
}
