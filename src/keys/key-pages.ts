import { setImmediate as turnOver } from 'node:timers/promises';
import type { AuditEntry, KeyRecord, KeyStore, Listed } from '../stores/key-store.ts';
import { isKeyId } from './key-id.ts';
import { invalidField } from './key-problem.ts';
import { viewKey, type KeyView } from './key-view.ts';

interface PageQuery {
  readonly cursor?: string | undefined;
  /** 1 to 1000; 100 by default. */
  readonly limit?: number | undefined;
}

/** Which keys to list; undefined filters do not count. */
export interface KeyQuery extends PageQuery {
  readonly plan?: string | undefined;
  readonly owner?: string | undefined;
  /** What the name begins with. */
  readonly name?: string | undefined;
  /** `name` or `name=value`. All of them must fit. */
  readonly labels?: readonly string[] | undefined;
  readonly enabled?: boolean | undefined;
  /** Revoked keys are listed only when asked for. */
  readonly revoked?: boolean | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** The ids of what is gone or cannot be read, whether it would fit or not. */
  readonly unreadable: readonly string[];
  /** The cursor of the next page; null at the end. A page can be short, or empty, before the end. */
  readonly next: string | null;
}

export interface AuditQuery extends PageQuery {
  readonly keyId?: string | undefined;
}

export type AuditView = Omit<AuditEntry, 'at' | 'keyId'> & {
  readonly at: string;
  readonly keyId: string | null;
};

/** How many a page may have, and has by default. */
export const limitMax = 1000;
export const limitDefault = 100;
const scanStep = 200;
/** One call looks at no more keys than this: a filter that fits none of a million must not hold a gateway up. */
const scanMax = 5000;
/** The ids of audit entries in both stores. Redis treats zero and more than 64 bits as an error. */
const auditCursor = /^[1-9]\d{0,14}(-\d{1,15})?$/;

export async function listKeys(store: KeyStore, query: KeyQuery, now: () => number): Promise<Page<KeyView>> {
  const limit = readLimit(query.limit);
  const fits = createFilter(query);
  if (query.cursor !== undefined && !isKeyId(query.cursor)) throw badCursor();
  return await scan(query.cursor, limit, {
    read: (after = '') => store.listKeys(after, scanStep),
    view: (known) => (fits(known.record) ? viewKey(known, now()) : undefined),
  });
}

/** Lists the audit log, newest first. */
export async function listAudit(store: KeyStore, query: AuditQuery): Promise<Page<AuditView>> {
  const limit = readLimit(query.limit);
  const { cursor, keyId } = query;
  if (cursor !== undefined && !auditCursor.test(cursor)) throw badCursor();
  return await scan(cursor, limit, {
    read: (before) => store.listAudit(before, scanStep),
    view: (entry) => (keyId === undefined || entry.keyId === keyId ? viewEntry(entry) : undefined),
  });
}

interface Scan<Found, View> {
  /** Reads what comes after the cursor, at most `scanStep`. */
  readonly read: (cursor: string | undefined) => Promise<readonly Listed<Found>[]>;
  /** Undefined for what does not fit. */
  readonly view: (found: Found) => View | undefined;
}

/** Looks through a list from a cursor on, until `limit` fit or `scanMax` were looked at. */
async function scan<Found, View>(
  from: string | undefined,
  limit: number,
  { read, view }: Scan<Found, View>,
): Promise<Page<View>> {
  const items: View[] = [];
  const unreadable: string[] = [];
  let cursor = from;
  for (let seen = 0; seen < scanMax; seen += scanStep) {
    const step = await inItsTurn(() => read(cursor));
    for (const { id, found } of step) {
      cursor = id;
      const item = found === undefined ? undefined : view(found);
      if (found === undefined) unreadable.push(id);
      if (item !== undefined) items.push(item);
      if (items.length === limit) return { items, unreadable, next: id };
    }
    if (step.length < scanStep) return { items, unreadable, next: null };
  }
  return { items, unreadable, next: cursor ?? null };
}

let lastReading: Promise<unknown> = Promise.resolve();

/**
 * Reads for one page after the other, each time in a turn of the event loop of its own: callers are served in between. The embedded
 * store answers at once, so that all that a page looks at would be one turn.
 */
function inItsTurn<T>(read: () => Promise<T>): Promise<T> {
  const reading = lastReading.then(() => turnOver()).then(read);
  lastReading = reading.catch(() => undefined);
  return reading;
}

function viewEntry({ keyId, at, ...entry }: AuditEntry): AuditView {
  return { ...entry, keyId: keyId ?? null, at: new Date(at).toISOString() };
}

function createFilter({ plan, owner, name, labels = [], enabled, revoked = false }: KeyQuery) {
  return (record: KeyRecord): boolean =>
    (plan === undefined || record.plan === plan) &&
    (owner === undefined || record.owner === owner) &&
    (name === undefined || record.name.startsWith(name)) &&
    (enabled === undefined || record.enabled === enabled) &&
    (record.revokedAt !== undefined) === revoked &&
    labels.every((label) => hasLabel(record, label));
}

function hasLabel({ labels }: KeyRecord, label: string): boolean {
  return Object.entries(labels).some(([name, value]) => label === name || label === `${name}=${value}`);
}

function readLimit(limit = limitDefault): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= limitMax) return limit;
  throw invalidField('limit', `must be a whole number from 1 to ${limitMax}`);
}

/** What is said about a cursor that no list gave out. */
export function badCursor(): Error {
  return invalidField('cursor', 'is not one that a page ended with');
}
