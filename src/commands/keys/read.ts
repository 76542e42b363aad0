import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import { lacksPeriod } from '../../keys/key-fields.ts';
import { createKeyFormat } from '../../keys/key-format.ts';
import type { AuditView } from '../../keys/key-pages.ts';
import type { KeyView } from '../../keys/key-view.ts';
import { atDesk, type CommandFlags } from '../desk.ts';
import { exitCodes } from '../exit-codes.ts';
import { explain } from '../explain.ts';
import { listPages, type ListFlags } from '../list-pages.ts';
import { printAudit, printKey, printKeys } from './print-keys.ts';

interface KeyFilters {
  readonly plan?: string;
  readonly owner?: string;
  readonly name?: string;
  readonly label?: readonly string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly revoked?: boolean;
}

const noKeys = 'The store has no keys yet, or only revoked ones. Make one with: gatehouse keys create';

export function listKeys(options: CommandFlags & ListFlags & KeyFilters): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async ({ book, terminal }) => {
    const { plan, owner, name, label: labels, revoked } = options;
    const enabled = options.disabled === true ? false : options.enabled;
    const filters = { plan, owner, name, labels, enabled, revoked };
    return listPages<KeyView>(options, terminal, {
      nothing: Object.values(filters).every((filter) => filter === undefined) ? noKeys : 'No key fits.',
      idOf: ({ id }) => id,
      noun: 'key',
      print: printKeys,
      read: (cursor, limit) => book.list({ ...filters, cursor, limit }),
    });
  });
}

export function auditKeys(options: CommandFlags & ListFlags & { readonly key?: string }): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async ({ book, terminal }) =>
    listPages<AuditView>(options, terminal, {
      nothing: options.key === undefined ? 'Nothing was changed yet.' : 'No change of this key is known.',
      idOf: ({ id }) => id,
      noun: 'audit entry',
      print: printAudit,
      read: (cursor, limit) => book.listAudit({ keyId: options.key, cursor, limit }),
    }),
  );
}

export function showKey(id: string, options: CommandFlags): Promise<number> {
  return atDesk({ ...options, readOnly: true }, async ({ book, config, terminal: { stdout, stderr } }) => {
    const key = await book.show(id);
    for (const warning of warningsOf(key, config.plans)) stderr.write(`gatehouse: warning: ${warning}\n`);
    stdout.write(options.json === true ? `${JSON.stringify(key, undefined, 2)}\n` : printKey(key, stdout));
    return exitCodes.ok;
  });
}

/** What the configuration does to a key that the operator may not have meant: plans and their quotas may have been renamed. */
function warningsOf({ plan: name, quotas }: KeyView, plans: Config['plans']): readonly string[] {
  const plan = plans.get(name);
  if (plan === undefined)
    return [`the configuration has no plan ${name}, so requests with this key are answered 500`];
  return quotas
    .filter((quota) => lacksPeriod(quota, plan))
    .map((quota) => `plan ${name} has no quota ${quota.name}, so that of the key counts for its lifetime`);
}

/** `gatehouse keys pattern`: the regular expression of the keys that are made here. */
export function printPattern(options: CommandFlags): number {
  try {
    const { auth } = loadConfig(options.config, process.env);
    process.stdout.write(`${createKeyFormat(auth.prefix).pattern}\n`);
    return exitCodes.ok;
  } catch (error) {
    return explain(error, process);
  }
}
