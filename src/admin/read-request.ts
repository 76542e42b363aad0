import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { printSize } from '../config/units.ts';
import { isObject } from '../content/is-object.ts';
import { parseStrictJson } from '../content/strict-json.ts';
import type { ImportForm } from '../keys/imports/split-records.ts';
import { keyBytesMax, keyJsonBounds } from '../keys/key-limits.ts';
import { invalidField } from '../keys/key-problem.ts';
import type { RequestMark } from '../stores/key-store.ts';
import { collectAll } from '../wire/collected-bytes.ts';
import { AdminProblem } from './problem.ts';

/** What an import may be, and how its lines are read. */
export const importTypes = {
  'text/csv': 'csv',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
} as const satisfies Readonly<Record<string, ImportForm>>;

/** The lines of an import, as they come. */
export interface SentLines {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly form: ImportForm;
}

/** For all of a JSON body, and for any silence within an import. */
const patienceMs = 30_000;

/** The path and the query of a target that can be read in only one way. */
export function readTarget(target: string): { readonly path: string; readonly query: string } {
  const end = target.indexOf('?');
  const [path, query] = end < 0 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)];
  if (/%(?![0-9A-Fa-f]{2})/.test(query)) throw new AdminProblem('malformed', 'The query is malformed');
  return { path, query };
}

/**
 * Reads a body that is one JSON object. Where none is required, no body counts as an empty object, and so do chunks that hold
 * nothing: they are no body either (RFC 9112 §6.3).
 */
export async function readJsonBody(
  req: IncomingMessage,
  res: ServerResponse,
  { required }: { readonly required: boolean },
): Promise<Readonly<Record<string, unknown>>> {
  if (required) requireType(req, ['application/json']);
  const bytes = await readBytes(req, res);
  if (!required && bytes.length === 0) return {};
  if (!required) requireType(req, ['application/json']);
  const value = parseStrictJson(bytes, keyJsonBounds);
  if (isObject(value)) return value;
  throw invalidField('', 'the body must be a JSON object');
}

/** Reads a body that is the lines of an import. */
export function readLines(req: IncomingMessage, res: ServerResponse): SentLines {
  const type = requireType(req, Object.keys(importTypes) as (keyof typeof importTypes)[]);
  return { form: importTypes[type], chunks: patiently(req, res) };
}

/** Refuses a body where none is taken. Who sends a length, or asks before sending, has one. */
export async function refuseBody(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (!hasBody(req)) return;
  const { 'transfer-encoding': coding, expect } = req.headers;
  if (coding !== undefined && expect === undefined && (await holdsNothing(patiently(req, res)))) return;
  throw new AdminProblem('malformed', 'This operation takes no body');
}

async function holdsNothing(chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  for await (const _ of chunks) return false;
  return true;
}

/** Whether a body is announced. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** RFC 9110 §8.8.3. A comma may stand in one. */
const entityTag = /(?:W\/)?"[\x21\x23-\x7e]*"/g;

/** The versions that If-Match allows; undefined for any. */
export function readIfMatch(req: IncomingMessage): readonly number[] | undefined {
  const written = req.headers['if-match'];
  if (written === undefined || written === '*') return undefined;
  const tags = written.match(entityTag) ?? [];
  const elements = written.replaceAll(entityTag, '\0').split(',');
  // Some may be empty (RFC 9110 §5.6.1.2).
  if (tags.length === 0 || !elements.every((element) => ['', '\0'].includes(element.trim()))) {
    throw new AdminProblem('malformed', 'If-Match must be * or the ETag of a key');
  }
  // A weak tag is never the same as a strong one (RFC 9110, section 13.1.1).
  return tags.flatMap((tag) => (/^"(?:0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));
}

/**
 * The request by the name that the caller gave it in Idempotency-Key. Names of one token never clash with those of another.
 * Anything else asked of a key under one of its names is another request.
 */
export function readMark(
  req: IncomingMessage,
  { operation, actor, content }: { operation: string; actor: string; content: unknown },
): RequestMark | undefined {
  const written = req.headers['idempotency-key'];
  if (written === undefined) return undefined;
  if (typeof written !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(written)) {
    throw new AdminProblem('malformed', 'Idempotency-Key must be 1 to 255 visible ASCII characters');
  }
  return { name: digest([actor, written]), content: digest([operation, content]) };
}

/** Equal contents give equal digests, whatever the order of their members. 132 bits keep others apart. */
function digest(content: unknown): string {
  return hash('sha256', JSON.stringify(content, inOrder), 'base64url').slice(0, 22);
}

function inOrder(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Which of these types the body has. */
function requireType<Type extends string>(req: IncomingMessage, types: readonly Type[]): Type {
  const encoding = req.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new AdminProblem('unsupported_type', 'The body must not be compressed');
  }
  const written = req.headers['content-type'] ?? '';
  const [given = '', ...parameters] = written.split(';').map((part) => part.trim());
  const type = types.find((one) => one === given.toLowerCase());
  if (type !== undefined && parameters.every(isHarmless)) return type;
  const demand = type === undefined ? types.join(' or ') : `${type} with charset=utf-8 or no parameter`;
  throw new AdminProblem('unsupported_type', `Content-Type must be ${demand}`);
}

/** Whether a parameter of the type changes nothing. One may be empty (RFC 9110 §5.6.6). */
function isHarmless(parameter: string): boolean {
  return /^(?:charset=(?:utf-8|"utf-8")|header=present)?$/i.test(parameter);
}

async function readBytes(req: IncomingMessage, res: ServerResponse): Promise<Buffer> {
  const tooLarge = new AdminProblem('too_large', `The body must be at most ${printSize(keyBytesMax)}`);
  if (Number(req.headers['content-length'] ?? 0) > keyBytesMax) throw tooLarge;
  const timer = giveUpLater(req);
  try {
    acceptBody(req, res);
    return await collectAll(req.iterator({ destroyOnReturn: false }), keyBytesMax, () => tooLarge);
  } finally {
    clearTimeout(timer);
  }
}

async function* patiently(req: IncomingMessage, res: ServerResponse): AsyncGenerator<Uint8Array> {
  acceptBody(req, res);
  let timer = giveUpLater(req);
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      // It binds only the client, never the store that its lines wait for.
      clearTimeout(timer);
      yield chunk as Uint8Array;
      timer = giveUpLater(req);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Only the open connection keeps the process alive, not this timer. */
function giveUpLater(req: IncomingMessage): NodeJS.Timeout {
  return setTimeout(() => req.socket.destroy(), patienceMs).unref();
}

/**
 * Asks for the body, once it will be read: a client that is refused need not send it. HTTP/1.0 knows no interim answers (RFC 9110
 * §15.2).
 */
function acceptBody({ headers, httpVersion }: IncomingMessage, res: ServerResponse): void {
  if (httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '')) res.writeContinue();
}
