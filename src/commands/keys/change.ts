import { styleText } from 'node:util';
import type { Config } from '../../config/config.ts';
import { parseDuration } from '../../config/units.ts';
import { requireUnrevoked } from '../../keys/change-key.ts';
import type { FreshSecret } from '../../keys/key-book.ts';
import type { WrittenFields } from '../../keys/key-fields.ts';
import { invalidField, invalidFields } from '../../keys/key-problem.ts';
import { createKeyRules } from '../../keys/key-rules.ts';
import type { KeyView } from '../../keys/key-view.ts';
import { readNewKey } from '../../keys/new-key.ts';
import { atDesk, type CommandFlags, type TerminalDesk } from '../desk.ts';
import { exitCodes } from '../exit-codes.ts';
import { canShowSecret, writeSecret } from '../output.ts';
import { agree, type Terminal } from '../terminal.ts';
import { printInstant, printKey } from './print-keys.ts';
import { readFlags, type FieldFlags } from './written-fields.ts';

/** `gatehouse keys create`: makes a key and shows its secret, once. */
export async function createKey(
  options: CommandFlags & FieldFlags & { readonly id?: string },
): Promise<number> {
  if (!canShowSecret(process)) return exitCodes.output;
  const written = (): WrittenFields => ({ ...readFlags(options, Date.now()), id: options.id });
  const check = (config: Config): void => void readNewKey(written(), createKeyRules(config));
  return atDesk({ ...options, create: true, check }, async ({ book, by, terminal }) => {
    const fresh = await book.create(written(), by);
    const { id, plan } = fresh.key;
    const news = `Key ${id} was made on plan ${plan}${validityOf(fresh.key)}.`;
    showSecret(fresh, options, { terminal, news });
    return exitCodes.ok;
  });
}

function validityOf({ state, notBefore, expiresAt }: KeyView): string {
  if (state === 'disabled') return ', but works for nobody: it is disabled';
  if (state === 'expired') return `, but works for nobody: it expired ${printInstant(expiresAt)}`;
  const words = [
    ...(state === 'not_yet_valid' ? [`works from ${printInstant(notBefore)}`] : []),
    ...(expiresAt === null ? [] : [`expires ${printInstant(expiresAt)}`]),
  ];
  return words.length === 0 ? '' : `, it ${words.join(' and ')}`;
}

/** `gatehouse keys rotate`: gives a key a new secret. */
export async function rotateKey(
  id: string,
  options: CommandFlags & { readonly overlap?: string; readonly now?: boolean; readonly yes?: boolean },
): Promise<number> {
  if (!canShowSecret(process)) return exitCodes.output;
  return atDesk(options, async (open) => {
    const overlapMs = readOverlap(options);
    if (overlapMs === 0) {
      const question = `The secrets of ${await nameOf(id, 'rotate', open)} stop working at once. Go on?`;
      const agreed = await agree(question, options, open.terminal);
      if (agreed !== true) return agreed;
    }
    const fresh = await open.book.rotate(id, { overlapMs }, open.by);
    const others =
      fresh.othersUntil === null
        ? 'Its earlier secrets no longer work.'
        : `Its earlier secrets work until ${printInstant(fresh.othersUntil)} at the latest.`;
    const news = `Key ${id} has a new secret${validityOf(fresh.key)}. ${others}`;
    showSecret(fresh, options, { terminal: open.terminal, news });
    return exitCodes.ok;
  });
}

/** `gatehouse keys update`: changes what the flags say. */
export function updateKey(
  id: string,
  options: CommandFlags & FieldFlags & { readonly clear?: readonly string[] },
): Promise<number> {
  return atDesk(options, async ({ book, by, terminal }) => {
    const cleared = options.clear ?? [];
    const given = readFlags(options, Date.now());
    const torn = cleared.filter((field) => given[field] !== undefined);
    if (torn.length > 0) {
      const message = 'cannot be given and cleared at once';
      throw invalidFields(torn.map((field) => ({ field, message })));
    }
    const written = Object.entries(given).filter(([, value]) => value !== undefined);
    const fields = Object.fromEntries([...written, ...cleared.map((field) => [field, null] as const)]);
    if (Object.keys(fields).length === 0) {
      throw invalidField('', 'nothing to change was given, see gatehouse keys update --help');
    }
    show(await book.update(id, fields, by), options, terminal);
    return exitCodes.ok;
  });
}

type Switch = 'revoke' | 'disable' | 'enable';

const consequences = {
  revoke: 'stops working within a second and can never be used again',
  disable: 'stops working within a second, until it is enabled',
  enable: undefined,
} as const satisfies Record<Switch, string | undefined>;

export function switchKey(
  action: Switch,
  id: string,
  options: CommandFlags & { readonly yes?: boolean },
): Promise<number> {
  return atDesk(options, async (open) => {
    const consequence = consequences[action];
    if (consequence !== undefined) {
      const which = await nameOf(id, action, open);
      const agreed = await agree(`Key ${which} ${consequence}. Go on?`, options, open.terminal);
      if (agreed !== true) return agreed;
      if (open.config.keys.some((key) => key.id === id)) open.terminal.stderr.write(twinWarning(id));
    }
    const key = await open.book[action](id, open.by);
    if (options.json === true) show(key, options, open.terminal);
    else if (options.quiet !== true) open.terminal.stderr.write(`Key ${id} was ${action}d.\n`);
    return exitCodes.ok;
  });
}

/** What people know a key by. Nobody is asked about one that there is not, or that can only be revoked again. */
async function nameOf(id: string, action: 'rotate' | Switch, { book }: TerminalDesk): Promise<string> {
  const { name, state } = await book.show(id);
  requireUnrevoked(state === 'revoked', action);
  return name === '' ? id : `${id} (${name})`;
}

/** While a key moves from the file to the store it is in both, and ending it in the store may be meant to end it altogether. */
function twinWarning(id: string): string {
  return `warning: the configuration file has a key ${id} as well, which goes on working until it is taken out there\n`;
}

function readOverlap({ overlap, now }: { readonly overlap?: string; readonly now?: boolean }): number {
  if ((overlap === undefined) === (now !== true)) {
    const message = 'say --overlap 24h to keep the old secret for a while, or --now to end it at once';
    throw invalidField('', message);
  }
  if (overlap === undefined) return 0;
  const overlapMs = parseDuration(overlap);
  if (overlapMs === 0) throw invalidField('--overlap', 'is no time at all, say --now instead');
  if (overlapMs === undefined) throw invalidField('--overlap', 'is not a duration, write 30m, 24h or 7d');
  return overlapMs;
}

/** Standard output gets only the secret, so that a script can take it; what people are told goes to standard error. */
function showSecret(
  fresh: FreshSecret,
  { json, quiet }: CommandFlags,
  { terminal, news }: { readonly terminal: Terminal; readonly news: string },
): void {
  const { stderr } = terminal;
  if (json !== true && quiet !== true) {
    const warning = 'This is the only time that the secret is shown:';
    stderr.write(`${news}\n${styleText('yellow', warning, { stream: stderr })}\n`);
  }
  const text = json === true ? JSON.stringify(fresh, undefined, 2) : fresh.secret;
  writeSecret(`${text}\n`, fresh.key.id, terminal);
}

function show(key: KeyView, { json, quiet }: CommandFlags, { stdout }: Terminal): void {
  if (json === true) stdout.write(`${JSON.stringify(key, undefined, 2)}\n`);
  else if (quiet !== true) stdout.write(printKey(key, stdout));
}
