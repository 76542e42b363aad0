import { filled, none } from '../collections/filled.ts';
import { isObject } from '../content/is-object.ts';
import { isPrintable, printable } from '../content/printable.ts';
import type {
  AuditEntry,
  AuditNote,
  KeyRecord,
  KeySecret,
  KnownKey,
  Listed,
  OwnQuota,
  RequestMark,
} from './key-store.ts';
import { Unreadable } from './store-unavailable.ts';

/** Writes a key the way both stores keep it: short, because there may be a million. Empty fields are left out. */
export function encodeKeyRecord(record: KeyRecord): string {
  const { id: _id, version: _version, secrets, quotas, scopes, labels, networks, requests, ...rest } = record;
  return JSON.stringify({
    ...rest,
    name: filled(rest.name),
    owner: filled(rest.owner),
    enabled: rest.enabled ? undefined : false,
    quotas: filled(quotas),
    scopes: filled(scopes),
    labels: filled(labels),
    networks: filled(networks),
    requests: filled(requests),
    secrets: secrets.map(({ digest, start, ...secret }) => ({
      ...secret,
      digest: Buffer.from(digest, 'hex').toString('base64url'),
      start: filled(start),
    })),
  });
}

/** Reads a key back. A store may hold what somebody else wrote, so nothing is taken on trust. */
export function decodeKeyRecord(id: string, version: number, text: string): KeyRecord {
  return read({ kind: 'key', id, text }, (fields) => ({
    id: words(id),
    version: whole(version),
    name: words(fields['name'] ?? ''),
    owner: words(fields['owner'] ?? ''),
    plan: words(fields['plan']),
    quotas: list(fields['quotas'], decodeQuota),
    scopes: list(fields['scopes'], words),
    labels: labelsIn(fields['labels']),
    networks: list(fields['networks'], words),
    notBefore: optional(fields['notBefore'], asInstant),
    expiresAt: optional(fields['expiresAt'], asInstant),
    enabled: flag(fields['enabled'] ?? true),
    revokedAt: optional(fields['revokedAt'], asInstant),
    createdAt: asInstant(fields['createdAt']),
    secrets: list(fields['secrets'], decodeSecret),
    requests: list(fields['requests'], decodeMark),
  }));
}

/** The key, if it still has the secret by which it was found. */
export function stillHolding(record: KeyRecord | undefined, digest: string): KeyRecord | undefined {
  return record?.secrets.some((secret) => secret.digest === digest) === true ? record : undefined;
}

/** The key has at most eight of them; the others tell when it was used before it was rotated. */
const secretsToldMax = 16;

/** The numbers of the latest secrets of a key, newest first, whether it still has them or not. */
export function secretsTold({ secrets }: KeyRecord): readonly number[] {
  const newest = secrets.at(-1)?.number ?? 0;
  return Array.from({ length: Math.min(newest, secretsToldMax) }, (_, before) => newest - before);
}

/** When secrets were used last, by their numbers. A time that no date can hold was written by somebody else, and tells nothing. */
export function usesOf(uses: readonly (readonly [secretNumber: number, at: unknown])[]): KnownKey['usedAt'] {
  const told = uses.map(([secretNumber, at]) => [secretNumber, Number(at)] as const);
  return new Map(told.filter(([, at]) => at > 0 && at <= instantMax));
}

/** Writes what the audit log keeps besides the moment and the number of keys. */
export function encodeAuditNote({ actor, action, keyId, changes }: AuditNote): string {
  return JSON.stringify({ actor, action, keyId, changes });
}

/** Reads an entry of the audit log back. */
export function decodeAuditEntry(
  { id, at, keys }: Pick<AuditEntry, 'id' | 'at' | 'keys'>,
  text: string,
): AuditEntry {
  return read({ kind: 'audit entry', id, text }, (fields) => ({
    id,
    at: asInstant(at),
    keys,
    actor: words(fields['actor']),
    action: words(fields['action']),
    keyId: optional(fields['keyId'], words),
    changes: Object.fromEntries(Object.entries(mapping(fields['changes'] ?? {})).map(decodeChange)),
  }));
}

/** A record as an entry of a list. */
export function asListed<T>(id: string, decode: () => T): Listed<T> {
  try {
    return { id, found: decode() };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { id, found: undefined };
  }
}

function decodeChange([name, change]: [string, unknown]): [string, AuditEntry['changes'][string]] {
  const [before, after] = list(change, (value) => value);
  if (!isPrintable(JSON.stringify([before, after]))) throw malformed(); // as they are shown
  return [words(name), [before, after]];
}

function decodeSecret(value: unknown): KeySecret {
  const fields = mapping(value);
  return {
    number: whole(fields['number']),
    digest: Buffer.from(words(fields['digest']), 'base64url').toString('hex'),
    start: words(fields['start'] ?? ''),
    createdAt: asInstant(fields['createdAt']),
    expiresAt: optional(fields['expiresAt'], asInstant),
  };
}

function decodeMark(value: unknown): RequestMark {
  const fields = mapping(value);
  return { name: words(fields['name']), content: words(fields['content']) };
}

function decodeQuota(value: unknown): OwnQuota {
  const fields = mapping(value);
  return {
    name: words(fields['name']),
    limit: whole(fields['limit']),
    per: optional(fields['per'], words),
    timezone: optional(fields['timezone'], words),
  };
}

interface Kept {
  readonly kind: 'key' | 'audit entry';
  readonly id: string;
  readonly text: string;
}

function read<T>({ kind, id, text }: Kept, decode: (fields: Readonly<Record<string, unknown>>) => T): T {
  try {
    return decode(mapping(JSON.parse(text)));
  } catch {
    // The parser's message quotes the text, which is nobody's business; this one says enough.
    throw new Unreadable(`the record of ${kind} ${printable(id)} in the store cannot be read`);
  }
}

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw malformed();
  return value;
}

function list<Item>(value: unknown, decode: (item: unknown) => Item): readonly Item[] {
  if (value === undefined) return none;
  if (!Array.isArray(value)) throw malformed();
  return value.map(decode);
}

const noLabels: KeyRecord['labels'] = Object.freeze({});

function labelsIn(value: unknown): KeyRecord['labels'] {
  if (value === undefined) return noLabels;
  return Object.fromEntries(
    Object.entries(mapping(value)).map(([name, label]) => [words(name), words(label)]),
  );
}

/** All of them are shown as they are, in lists and in headers: what others wrote must play no tricks there. */
function words(value: unknown): string {
  if (typeof value !== 'string' || !isPrintable(value)) throw malformed();
  return value;
}

/** The most that a date can hold, in either direction (ECMA-262 §21.4.1.1). */
const instantMax = 8.64e15;

function asInstant(value: unknown): number {
  const isInstant = typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= instantMax;
  if (!isInstant) throw malformed();
  return value;
}

/** A number of something. */
function whole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw malformed();
  return value;
}

function flag(value: unknown): boolean {
  if (typeof value !== 'boolean') throw malformed();
  return value;
}

function optional<T>(value: unknown, decode: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : decode(value);
}

function malformed(): Error {
  return new Error('a field is of another type');
}
