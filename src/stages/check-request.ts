import type { IncomingMessage } from 'node:http';
import { Refusal } from '../refusals.ts';
import { hostForm } from '../wire/host-form.ts';

/** The head of a request in the one form that every later stage reads. */
export interface Head {
  readonly method: string;
  /** Canonical, as it was sent: these bytes are matched and these bytes are forwarded. */
  readonly path: string;
  /** With its question mark, or ''. */
  readonly query: string;
  readonly host: string;
  /** What a key header held, and how many of them came. */
  readonly key: string | undefined;
  readonly keyCount: number;
  /** The name of the last of them in lower case, or ''. */
  readonly keyHeader: string;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** undefined when the body is chunked. */
  readonly contentLength: number | undefined;
  readonly expectsContinue: boolean;
  /** Set when the connection was handed over for an upgrade, not when the header is there without one. */
  readonly upgrade: string | undefined;
}

/**
 * The one door: request → Head. 400 417.
 * Works on what came over the wire, `rawHeaders` and the raw target, before anything interprets it. A form that two servers could
 * read differently is refused, never repaired (CVE-2019-9901, CVE-2021-29492 and their kin came from repairing).
 */
export function checkRequest(req: IncomingMessage, keyHeaders: readonly string[]): Head {
  const raw = readHeaders(req.rawHeaders, keyHeaders);
  // First: whatever else is wrong, its connection ends with a request whose end is in doubt.
  const contentLength = checkFraming(req, raw);
  const { path, query } = checkTarget(req.url ?? '');
  const method = req.method ?? '';
  checkVersion(req);
  const host = checkHost(raw);
  return {
    method,
    path,
    query,
    host,
    key: raw.key,
    keyCount: raw.keyCount,
    keyHeader: raw.keyHeader,
    contentType: once(raw.contentType, 'Content-Type'),
    contentEncoding: once(raw.contentEncoding, 'Content-Encoding'),
    contentLength,
    expectsContinue: checkExpect(req, raw),
    upgrade: 'upgrade' in req && req.upgrade === true ? raw.upgrade : undefined,
  };
}

const repeated = Symbol('came more than once');

/** The value of a header that may come once. */
type Given = string | typeof repeated | undefined;

class RawHead {
  key: string | undefined;
  keyCount = 0;
  keyHeader = '';
  host: Given;
  contentType: Given;
  contentEncoding: Given;
  contentLength: Given;
  transferEncoding: Given;
  expect: Given;
  upgrade: string | undefined;
}

function readHeaders(rawHeaders: readonly string[], keyHeaders: readonly string[]): RawHead {
  const head = new RawHead();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    // Not a `Set`: it would hash each name, for nearly twice the time of this stage.
    if (keyHeaders.includes(name)) {
      head.key = name === 'authorization' ? withoutBearer(value) : value;
      head.keyCount += 1;
      head.keyHeader = name;
    }
    note(head, name, value);
  }
  return head;
}

/** Whether a scheme may stand before the key in one of these headers (RFC 9110 §11.4). */
export function maySayBearer(keyHeaders: readonly string[]): boolean {
  return keyHeaders.some((name) => name.toLowerCase() === 'authorization');
}

/** The key in a value that may name the scheme before it. */
export function withoutBearer(value: string): string {
  return value.replace(/^bearer(?: +|$)/i, '');
}

function note(head: RawHead, name: string, value: string): void {
  switch (name) {
    case 'host':
      head.host = add(head.host, value);
      break;
    case 'content-type':
      head.contentType = add(head.contentType, value);
      break;
    case 'content-encoding':
      head.contentEncoding = add(head.contentEncoding, value);
      break;
    case 'content-length':
      head.contentLength = add(head.contentLength, value);
      break;
    case 'transfer-encoding':
      head.transferEncoding = add(head.transferEncoding, value);
      break;
    case 'expect':
      head.expect = add(head.expect, value);
      break;
    case 'upgrade':
      head.upgrade = value;
      break;
  }
}

function add(before: Given, value: string): Given {
  return before === undefined ? value : repeated;
}

/** pchar of RFC 3986 less `;`, whose parameters servers strip in different ways (CVE-2026-73551). */
const plainPath = /^\/(?:[\w~!$&'()*+,=:@.-]+\/)*[\w~!$&'()*+,=:@.-]*$/;
const escapedPath =
  /^\/(?:(?:[\w~!$&'()*+,=:@.-]|%[0-9A-Fa-f]{2})+\/)*(?:[\w~!$&'()*+,=:@.-]|%[0-9A-Fa-f]{2})*$/;
/** `.` and `..` as a whole segment. */
const dotSegment = /\/\.{1,2}(?:\/|$)/;
/**
 * Escapes that hide something: unreserved characters (encoded dots among them), slash, backslash, semicolon, control
 * characters, and a percent sign that begins another escape (double encoding).
 */
const hidingEscape =
  /%(?:2[DdEeFf]|3[0-9Bb]|4[1-9A-Fa-f]|5[0-9AaCcFf]|6[1-9A-Fa-f]|7[0-9AaEeFf]|[01][0-9A-Fa-f]|25[0-9A-Fa-f]{2})/;
/** Visible ASCII. A raw `#` would be a fragment, which some servers cut off and some do not (CVE-2021-32779). */
const plainQuery = /^\?[!-~]*$/;

/** What a request asks for, as the request line has it → path and query. 400. */
export function checkTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark);
  if (!isCanonical(path)) throw new Refusal('path_malformed');
  if (query !== '' && (!plainQuery.test(query) || query.includes('#'))) {
    throw new Refusal('request_malformed', { message: 'The query string is malformed' });
  }
  return { path, query };
}

function isCanonical(path: string): boolean {
  if (dotSegment.test(path)) return false;
  if (plainPath.test(path)) return true;
  return escapedPath.test(path) && !hidingEscape.test(path) && isUtf8(path);
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false; // overlong forms such as %C0%AE among them
  }
}

function checkVersion(req: IncomingMessage): void {
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    throw new Refusal('request_malformed', { message: 'Only HTTP/1.1 and HTTP/1.0 are spoken here' });
  }
}

const portMax = 65_535;

function checkHost(raw: RawHead): string {
  const form = typeof raw.host === 'string' ? hostForm.exec(raw.host) : null;
  if (form === null || Number(form[1] ?? 0) > portMax) {
    throw new Refusal('request_malformed', { message: 'Exactly one valid Host header is required' });
  }
  return form[0];
}

/** Node has already refused bad lengths, and Content-Length beside Transfer-Encoding; what it lets pass is refused here. */
function checkFraming(req: IncomingMessage, raw: RawHead): number | undefined {
  const coding = raw.transferEncoding;
  if (coding !== undefined) {
    const exact = coding !== repeated && coding.toLowerCase() === 'chunked';
    if (!exact || req.httpVersion !== '1.1' || raw.contentLength !== undefined) {
      // Servers differ on where such a body ends (RFC 9112 §6.1).
      const message =
        'Transfer-Encoding must be exactly "chunked", over HTTP/1.1 and without a Content-Length';
      throw new Refusal('request_malformed', { message, isLast: true });
    }
    return undefined;
  }
  const length = once(raw.contentLength, 'Content-Length');
  if (length === undefined) return 0;
  const bytes = Number(length);
  if (!/^[0-9]+$/.test(length) || !Number.isSafeInteger(bytes)) {
    throw new Refusal('request_malformed', { message: 'Content-Length is not a number' });
  }
  return bytes;
}

function checkExpect(req: IncomingMessage, raw: RawHead): boolean {
  const expect = once(raw.expect, 'Expect');
  if (expect === undefined || req.httpVersion === '1.0') return false;
  if (expect.toLowerCase() !== '100-continue') throw new Refusal('expectation_failed');
  return true;
}

function once(given: Given, name: string): string | undefined {
  if (given === repeated) {
    throw new Refusal('request_malformed', { message: `${name} must be given once` });
  }
  return given;
}
