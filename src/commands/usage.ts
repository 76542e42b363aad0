import type { Config } from '../config/config.ts';
import { createUsageBook, viewUsage, type UsageBook, type UsageView } from '../quota/usage-book.ts';
import { printTable } from './columns.ts';
import { atDesk, type Desk, type DeskOptions } from './desk.ts';
import { exitCodes } from './exit-codes.ts';
import { listPages, type ListFlags } from './list-pages.ts';
import { agree } from './terminal.ts';

/** What every command about usage is called with. */
export interface UsageOptions {
  readonly config: string;
}

/** `gatehouse usage show`: what one key or all of them have used, as a table or as JSON. */
export function showUsage(key: string | undefined, options: UsageOptions & ListFlags): Promise<number> {
  return atUsageBook({ ...options, readOnly: true }, async ({ book, config, terminal }) => {
    if (key === undefined) return await listUsage({ book, config, terminal }, options);
    const usage = viewUsage(await book.read(key));
    const { stdout } = terminal;
    stdout.write(options.json === true ? `${JSON.stringify(usage)}\n` : printUsage([usage], config, stdout));
    return exitCodes.ok;
  });
}

/** `gatehouse usage reset`: sets the usage of a key to zero, after asking. */
export function resetUsage(
  id: string,
  options: UsageOptions & { readonly quota?: string; readonly yes?: boolean },
): Promise<number> {
  return atUsageBook(options, async ({ book, terminal }) => {
    const { key, quotas } = await book.planReset(id, options.quota);
    const names = quotas.join(', ');
    const agreed = await agree(`Set ${names} of key ${key} to zero?`, options, terminal);
    if (agreed !== true) return agreed;
    await book.reset(id, options.quota);
    terminal.stdout.write(`${names} of key ${key}: set to zero\n`);
    return exitCodes.ok;
  });
}

interface OpenUsage extends Omit<Desk, 'store'> {
  readonly book: UsageBook;
}

function atUsageBook(options: DeskOptions, work: (open: OpenUsage) => Promise<number>): Promise<number> {
  return atDesk(options, ({ store, ...desk }) =>
    work({ ...desk, book: createUsageBook({ config: desk.config, store }) }),
  );
}

function listUsage({ book, config, terminal }: OpenUsage, flags: ListFlags): Promise<number> {
  return listPages<UsageView>(flags, terminal, {
    nothing: 'There is no key. Make one with: gatehouse keys create',
    idOf: ({ key }) => key,
    noun: 'the usage of key',
    print: (usages, stream) => printUsage(usages, config, stream),
    read: async (cursor, limit) => {
      const { items, ...page } = await book.list({ cursor, limit });
      return { items: items.map(viewUsage), ...page };
    },
  });
}

const heading = ['KEY', 'PLAN', 'QUOTA', 'LIMIT', 'USED', 'LEASED', 'REMAINING', 'RESETS'];

function printUsage(
  usages: readonly UsageView[],
  { plans }: Pick<Config, 'plans'>,
  stream: NodeJS.WritableStream,
): string {
  const rows = usages.flatMap((usage) => rowsOf(usage, plans.has(usage.plan)));
  return printTable(heading, rows, stream);
}

function rowsOf({ key, plan, quotas }: UsageView, isPlanKnown: boolean): readonly (readonly string[])[] {
  if (quotas.length === 0) return [[key, plan, isPlanKnown ? 'none' : 'no such plan']];
  return quotas.map(({ name, limit, used, leased, remaining, resetsAt }) => [
    key,
    plan,
    name,
    ...[limit, used, leased, remaining].map(String),
    resetsAt?.replace('.000', '') ?? 'never',
  ]);
}
