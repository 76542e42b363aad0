import { StoreUnavailable } from './ledger.ts';
import type { KeyRecord } from './store.ts';

/** Writes a key the way both stores keep it. */
export function encodeKeyRecord(record: KeyRecord): string {
  const { id, plan, enabled, expiresAt } = record;
  return JSON.stringify({ id, plan, enabled, expiresAt });
}

/** Reads a key back. A store may hold what somebody else wrote, so nothing is taken on trust. */
export function decodeKeyRecord(text: string): KeyRecord {
  const value = parse(text);
  const { id, plan, enabled, expiresAt } = value;
  if (typeof id !== 'string' || typeof plan !== 'string' || typeof enabled !== 'boolean') throw unreadable();
  if (expiresAt !== undefined && typeof expiresAt !== 'number') throw unreadable();
  return { id, plan, enabled, expiresAt };
}

function parse(text: string): Partial<Record<string, unknown>> & { id?: unknown; plan?: unknown } & {
  enabled?: unknown;
  expiresAt?: unknown;
} {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The parser's message quotes the text, which is nobody's business; the error below says enough.
  }
  throw unreadable();
}

function unreadable(): StoreUnavailable {
  return new StoreUnavailable('the record of a key in the store cannot be read', { mayHaveHappened: false });
}
