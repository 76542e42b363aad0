import { styleText } from 'node:util';
import { counted } from '../../config/wording.ts';
import type { AuditView } from '../../keys/key-pages.ts';
import type { KeyView } from '../../keys/key-view.ts';
import { alignRows, printTable, shorten, type Widths } from '../columns.ts';

const heading = ['ID', 'NAME', 'OWNER', 'PLAN', 'STATE', 'SECRET', 'LAST USED', 'EXPIRES'];
const auditHeading = ['WHEN', 'WHO', 'ACTION', 'KEY', 'WHAT CHANGED'];
const nameColumnsMax = 24;

export function printKeys(keys: readonly KeyView[], stream: NodeJS.WritableStream, widths?: Widths): string {
  const rows = keys.map((key) => [
    key.id,
    shorten(key.name, nameColumnsMax),
    shorten(key.owner, nameColumnsMax),
    key.plan,
    stateOf(key),
    key.secrets.map(({ start }) => `${start}…`).join(' '),
    printInstant(key.lastUsedAt),
    printInstant(key.expiresAt),
  ]);
  return printTable(heading, rows, stream, widths);
}

export function printKey(key: KeyView, stream: NodeJS.WritableStream): string {
  const facts = [
    ['key', key.id],
    ['name', key.name],
    ['owner', key.owner],
    ['state', stateOf(key)],
    ['plan', key.plan],
    ['own quotas', key.quotas.map(quotaText).join(', ') || 'none'],
    ['scopes', key.scopes.join(', ') || 'every route'],
    ['networks', key.networks.join(', ') || 'from anywhere'],
    [
      'labels',
      Object.entries(key.labels)
        .map((label) => label.join('='))
        .join(', '),
    ],
    ['valid from', printInstant(key.notBefore, '')],
    ['expires', printInstant(key.expiresAt)],
    ['revoked', printInstant(key.revokedAt, '')],
    ['created', printInstant(key.createdAt)],
    ['last used', printInstant(key.lastUsedAt)],
    ['version', String(key.version)],
  ];
  const secrets = key.secrets.map((secret) => [
    `secret ${secret.number}`,
    `${secret.start}…`,
    `made ${printInstant(secret.createdAt)}`,
    `last used ${printInstant(secret.lastUsedAt)}`,
    endOf(secret, key),
  ]);
  const lines = alignRows(facts.filter(([, value]) => value !== ''));
  const bold = lines.map((line, at) => (at === 0 ? styleText('bold', line, { stream }) : line));
  return `${[...bold, '', ...alignRows(secrets)].join('\n')}\n`;
}

/** Once the key is revoked no secret works, so an end that is still to come is not shown. */
function endOf({ expiresAt, expired }: KeyView['secrets'][number], { revokedAt }: KeyView): string {
  if (expiresAt === null || (revokedAt !== null && !expired)) return '';
  return `${expired ? 'expired' : 'works until'} ${printInstant(expiresAt)}`;
}

export function printAudit(
  entries: readonly AuditView[],
  stream: NodeJS.WritableStream,
  widths?: Widths,
): string {
  const rows = entries.map((entry) => [
    printInstant(entry.at),
    entry.actor,
    entry.action,
    entry.keyId ?? counted(entry.keys, 'key'),
    entry.action === 'create' || entry.action === 'rotate' ? '' : changesText(entry),
  ]);
  return printTable(auditHeading, rows, stream, widths);
}

/** An instant for people: to the minute, in UTC. */
export function printInstant(instant: string | null, none = 'never'): string {
  return instant === null ? none : `${instant.slice(0, 16).replace('T', ' ')}Z`;
}

function stateOf({ state }: KeyView): string {
  return state.replaceAll('_', ' ');
}

function quotaText({ name, limit, per, timezone }: KeyView['quotas'][number]): string {
  return `${name}=${limit}${per === undefined ? '' : `/${per}`}${timezone === undefined ? '' : `@${timezone}`}`;
}

function changesText({ action, changes }: AuditView): string {
  const absent = action === 'set_usage' ? 'unreadable' : 'nothing';
  const word = (value: unknown): string =>
    value === undefined || value === null ? absent : JSON.stringify(value);
  return Object.entries(changes)
    .map(([field, [before, after]]) => `${field}: ${word(before)} → ${word(after)}`)
    .join(', ');
}
