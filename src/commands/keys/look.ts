import { once } from 'node:events';
import { loadConfig } from '../../config/load-config.ts';
import { exitCodes } from '../../exit-codes.ts';
import { createKeyFormat } from '../../keys/key-format.ts';
import type { AuditView } from '../../keys/key-pages.ts';
import type { KeyView } from '../../keys/key-view.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { atDesk, explain, type KeysOptions } from './open-book.ts';
import { printAudit, printKey, printTable } from './print-keys.ts';

/** The flags of commands that list. */
export interface ListFlags {
  readonly limit: number;
  readonly all?: boolean;
  readonly cursor?: string;
}

export interface KeyFilters {
  readonly plan?: string;
  readonly owner?: string;
  readonly name?: string;
  readonly label?: readonly string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly revoked?: boolean;
}

/** `gatehouse keys list`. */
export function listKeys(options: KeysOptions & ListFlags & KeyFilters): Promise<number> {
  return atDesk(options.config, async ({ book, terminal }) => {
    const { plan, owner, name, label: labels, revoked } = options;
    const enabled = options.disabled === true ? false : options.enabled;
    return listPages<KeyView>(options, terminal, {
      nothing: 'No key fits. Make one with: gatehouse keys create',
      idOf: ({ id }) => id,
      print: printTable,
      read: async (cursor, limit) => {
        const page = await book.list({ plan, owner, name, labels, enabled, revoked, cursor, limit });
        return { items: page.keys, next: page.next };
      },
    });
  });
}

/** `gatehouse keys audit`. */
export function auditKeys(options: KeysOptions & ListFlags & { readonly key?: string }): Promise<number> {
  return atDesk(options.config, async ({ book, terminal }) =>
    listPages<AuditView>(options, terminal, {
      nothing: 'Nothing was changed yet.',
      idOf: ({ id }) => id,
      print: printAudit,
      read: async (cursor, limit) => {
        const page = await book.listAudit({ keyId: options.key, cursor, limit });
        return { items: page.entries, next: page.next };
      },
    }),
  );
}

/** `gatehouse keys show`. */
export function showKey(id: string, options: KeysOptions): Promise<number> {
  return atDesk(options.config, async ({ book, terminal: { stdout } }) => {
    const key = await book.show(id);
    stdout.write(options.json === true ? `${JSON.stringify(key, undefined, 2)}\n` : printKey(key, stdout));
    return exitCodes.ok;
  });
}

/** `gatehouse keys pattern`: the regular expression of the keys that are made here. */
export function printPattern(options: KeysOptions): number {
  const terminal = processTerminal();
  try {
    const { auth } = loadConfig(options.config, process.env);
    terminal.stdout.write(`${createKeyFormat(auth.prefix).pattern}\n`);
    return exitCodes.ok;
  } catch (error) {
    return explain(error, terminal);
  }
}

interface Listing<T> {
  readonly read: (
    cursor: string | undefined,
    limit: number,
  ) => Promise<{ readonly items: readonly T[]; readonly next: string | null }>;
  readonly print: (items: readonly T[], stream: NodeJS.WritableStream) => string;
  readonly idOf: (item: T) => string;
  readonly nothing: string;
}

const pageMax = 500;

/** Reads pages until there are enough, and writes each as it comes: there may be a million keys. */
async function listPages<T>(
  options: KeysOptions & ListFlags,
  { stdout, stderr }: Terminal,
  { read, print, idOf, nothing }: Listing<T>,
): Promise<number> {
  let cursor = options.cursor;
  let left = options.all === true ? Infinity : options.limit;
  let some = false;
  while (left > 0) {
    const { items, next } = await read(cursor, Math.min(left, pageMax));
    left -= items.length;
    some ||= items.length > 0;
    await write(stdout, pageText(items));
    if (next === null) {
      if (!some && options.json !== true && options.quiet !== true) stderr.write(`${nothing}\n`);
      return exitCodes.ok;
    }
    cursor = next;
  }
  stderr.write(`There may be more: add --all, or --cursor ${cursor}\n`);
  return exitCodes.ok;

  function pageText(items: readonly T[]): string {
    if (items.length === 0) return '';
    if (options.json === true) return items.map((item) => `${JSON.stringify(item)}\n`).join('');
    if (options.quiet === true) return items.map((item) => `${idOf(item)}\n`).join('');
    return print(items, stdout);
  }
}

async function write(stdout: NodeJS.WriteStream, text: string): Promise<void> {
  if (text !== '' && !stdout.write(text)) await once(stdout, 'drain');
}
