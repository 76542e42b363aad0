import { once } from 'node:events';
import { printable } from '../content/printable.ts';
import type { Page } from '../keys/key-pages.ts';
import type { Widths } from './columns.ts';
import { exitCodes } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** The flags of commands that list. */
export interface ListFlags {
  readonly limit: number;
  readonly all?: boolean;
  readonly cursor?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What a command lists. */
interface Listing<T> {
  readonly read: (cursor: string | undefined, limit: number) => Promise<Page<T>>;
  /** As a table, whose first line is its heading, and whose columns are at least as wide as those of the pages before. */
  readonly print: (items: readonly T[], stream: NodeJS.WritableStream, widths: Widths) => string;
  readonly idOf: (item: T) => string;
  /** What an id is the id of. */
  readonly noun: string;
  /** What is said when a list from the beginning is empty. */
  readonly nothing: string;
}

const pageMax = 500;

/** Reads pages until there are enough, and writes each as it comes: there may be a million keys. */
export async function listPages<T>(
  options: ListFlags,
  { stdout, stderr }: Terminal,
  { read, print, idOf, noun, nothing }: Listing<T>,
): Promise<number> {
  let cursor = options.cursor;
  let left = options.all === true ? Infinity : options.limit;
  let some = false;
  const widths: Widths = [];
  let code: number = exitCodes.ok;
  while (left > 0) {
    const { items, unreadable, next } = await read(cursor, Math.min(left, pageMax));
    left -= items.length;
    await write(stdout, pageText(items));
    some ||= items.length > 0;
    for (const id of unreadable)
      stderr.write(`gatehouse: ${noun} ${printable(id)} cannot be read in the store\n`);
    if (unreadable.length > 0) code = exitCodes.unreadable;
    if (next === null) {
      if (!some && code === exitCodes.ok && options.json !== true && options.quiet !== true)
        stderr.write(`${options.cursor === undefined ? nothing : 'Nothing comes after this cursor.'}\n`);
      return code;
    }
    cursor = next;
  }
  stderr.write(`There may be more: add --all, or --cursor ${cursor}\n`);
  return code;

  function pageText(items: readonly T[]): string {
    if (items.length === 0) return '';
    if (options.json === true) return items.map((item) => `${JSON.stringify(item)}\n`).join('');
    if (options.quiet === true) return items.map((item) => `${idOf(item)}\n`).join('');
    const table = print(items, stdout, widths);
    // Its heading stands above the first page alone, so that rows can be counted.
    return some ? table.slice(table.indexOf('\n') + 1) : table;
  }
}

async function write(stdout: NodeJS.WriteStream, text: string): Promise<void> {
  if (text !== '' && !stdout.write(text)) await once(stdout, 'drain');
}
