import type { Config } from '../config/config.ts';
import type { ChosenQuotas, KeyUsage, UsagePeriods } from '../quota/usage-book.ts';
import { printTable, type Widths } from './columns.ts';
import { atDesk, type CommandFlags, type TerminalDesk } from './desk.ts';
import { exitCodes } from './exit-codes.ts';
import { listPages, type ListFlags } from './list-pages.ts';
import { agree } from './terminal.ts';

export type UsageFlags = CommandFlags & ListFlags & UsagePeriods;

/** `gatehouse usage show`: what one key or all of them have used, as a table or as JSON. */
export function showUsage(key: string | undefined, options: UsageFlags): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async (desk) => {
    if (key === undefined) return await listUsage(desk, options);
    const { ended } = options;
    const used = await desk.usage.read(key, { ended });
    const { stdout } = desk.terminal;
    const table = { plans: desk.config.plans, ended, stream: stdout };
    stdout.write(options.json === true ? `${JSON.stringify(used)}\n` : printUsage([used], table));
    return exitCodes.ok;
  });
}

interface SettingFlags extends CommandFlags {
  readonly yes?: boolean;
}

/** `gatehouse usage set`: sets what a key has used of a quota, after asking. */
export function setUsage(
  id: string,
  options: SettingFlags & { readonly quota: string; readonly used: number },
): Promise<number> {
  const { quota, used } = options;
  return atDesk(options, async (desk) => {
    const chosen = await desk.usage.choose(id, quota);
    const agreed = await agree(`Set ${quota} of key ${id} to ${used} used?`, options, desk.terminal);
    // Whoever has thought about it for so long that the period has ended did not mean the next one.
    return agreed === true ? await set(chosen, used, options, desk) : agreed;
  });
}

/** `gatehouse usage reset`: sets the usage of a key to zero, after asking. */
export function resetUsage(id: string, options: SettingFlags & { readonly quota?: string }): Promise<number> {
  return atDesk(options, async (desk) => {
    const { counters } = await desk.usage.choose(id, options.quota);
    const names = counters.map(({ name }) => name).join(', ');
    const agreed = await agree(`Set ${names} of key ${id} to zero?`, options, desk.terminal);
    if (agreed !== true) return agreed;
    return await set(await desk.usage.choose(id, options.quota), 0, options, desk);
  });
}

async function set(
  chosen: ChosenQuotas,
  spent: number,
  { json }: CommandFlags,
  { usage, by, terminal: { stdout } }: TerminalDesk,
): Promise<number> {
  const used = await usage.set(chosen, spent, by);
  stdout.write(json === true ? `${JSON.stringify(used)}\n` : tellSetting(used));
  return exitCodes.ok;
}

/** A line for each quota. */
function tellSetting({ key, quotas }: KeyUsage): string {
  const lines = quotas.map(({ name, limit, used, leased, remaining }) => {
    const ahead = leased === 0 ? '' : `, ${leased} held ahead by gateways`;
    const left = remaining === 0 ? 'nothing' : remaining;
    return `${name} of key ${key}: ${used - leased} used${ahead}, ${left} of ${limit} left\n`;
  });
  return lines.join('');
}

function listUsage({ usage, config, terminal }: TerminalDesk, flags: UsageFlags): Promise<number> {
  const { ended } = flags;
  return listPages<KeyUsage>(flags, terminal, {
    nothing: 'There is no key. Make one with: gatehouse keys create',
    idOf: ({ key }) => key,
    noun: 'the usage of key',
    print: (usages, stream, widths) => printUsage(usages, { plans: config.plans, ended, stream, widths }),
    read: (cursor, limit) => usage.list({ ended, cursor, limit }),
  });
}

const heading = ['KEY', 'PLAN', 'QUOTA', 'LIMIT', 'USED', 'LEASED', 'REMAINING'];

interface UsageTable extends Pick<Config, 'plans'>, UsagePeriods {
  readonly stream: NodeJS.WritableStream;
  readonly widths?: Widths;
}

function printUsage(usages: readonly KeyUsage[], { plans, ended, stream, widths }: UsageTable): string {
  const rows = usages.flatMap((usage) => rowsOf(usage, plans.has(usage.plan)));
  return printTable([...heading, ended === true ? 'ENDED' : 'RESETS'], rows, stream, widths);
}

function rowsOf({ key, plan, quotas }: KeyUsage, isPlanKnown: boolean): readonly (readonly string[])[] {
  if (quotas.length === 0) return [[key, plan, isPlanKnown ? 'none' : 'no such plan']];
  return quotas.map(({ name, limit, used, leased, remaining, resetsAt }) => [
    key,
    plan,
    name,
    ...[limit, used, leased, remaining].map(String),
    resetsAt?.replace('.000', '') ?? 'never',
  ]);
}
