/**
 * What the admin API says when it refuses something, in its own words.
 *
 * @typedef {{ error?: unknown, code?: unknown, fields?: readonly { field: string, problem: string }[] }} Refused
 */

export class Problem extends Error {
  /**
   * @param {string} words
   * @param {{ code?: string, fields?: Refused['fields'] }} [more]
   */
  constructor(words, { code = '', fields = [] } = {}) {
    super(words);
    this.code = code;
    this.fields = fields;
  }
}

/** A page never imports a million keys: whatever it asks for is answered sooner, or not at all. */
const patienceMs = 30_000;

/**
 * The operator's token, and what ends its requests. It is kept only in this variable and goes with the page: browsers write
 * sessionStorage to disk, to restore a session after a crash.
 *
 * @type {{ token: string, ended: AbortController } | undefined}
 */
let session;

/** @type {(problem: Problem) => void} */
let tellRefusal = () => undefined;

/**
 * Calls back whenever the API refuses something.
 *
 * @param {(problem: Problem) => void} listener
 */
export function onRefusal(listener) {
  tellRefusal = listener;
}

/** @param {string} token */
export function signIn(token) {
  session = { token, ended: new AbortController() };
}

/** Forgets the token, and abandons requests under way. */
export function signOut() {
  session?.ended.abort();
  session = undefined;
}

export function isSignedIn() {
  return session !== undefined;
}

/**
 * Asks the admin API. Paths are relative, so that the page also works behind a prefix.
 *
 * @template T
 * @param {'GET' | 'POST' | 'PATCH'} method
 * @param {string} path
 * @param {{ body?: unknown, etag?: string, mark?: string }} [request]
 * @returns {Promise<{ body: T, etag: string }>}
 */
export async function ask(method, path, { body, etag, mark } = {}) {
  const asking = session;
  const request = {
    method,
    headers: {
      ...(asking === undefined ? {} : { Authorization: `Bearer ${asking.token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(etag === undefined ? {} : { 'If-Match': etag }),
      ...(mark === undefined ? {} : { 'Idempotency-Key': mark }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.any([
      AbortSignal.timeout(patienceMs),
      ...(asking === undefined ? [] : [asking.ended.signal]),
    ]),
  };
  const response = await send(path, request).catch(() => {
    throw new Problem(`The gateway cannot be reached${doubtOf(method, mark)}`);
  });
  if (response.ok) return { body: response.body, etag: response.etag };
  const problem = problemOf(response);
  if (asking === session) tellRefusal(problem);
  throw problem;
}

/** Names a request, so that a repeat counts as the same one. Without TLS browsers have no `randomUUID`. */
export function newMark() {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/**
 * @param {string} path
 * @param {RequestInit} request
 */
async function send(path, request) {
  // Only the header identifies the caller, and it goes nowhere else.
  const answer = await fetch(path, { ...request, credentials: 'omit', redirect: 'error', cache: 'no-store' });
  const { ok, status } = answer;
  return { ok, status, body: parse(await answer.text()), etag: answer.headers.get('etag') ?? '' };
}

/**
 * Something in between may have answered, in another format.
 *
 * @param {string} text
 */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {{ status: number, body: Refused | undefined }} answer */
function problemOf({ status, body }) {
  if (typeof body?.error !== 'string') return new Problem(`The answer was ${status}, without a word`);
  return new Problem(body.error, { code: String(body.code), fields: body.fields ?? [] });
}

/**
 * @param {string} method
 * @param {string | undefined} mark
 */
function doubtOf(method, mark) {
  if (method === 'GET') return '';
  if (mark !== undefined) return '. It can be asked again as it is: it is done once';
  return '. It may have been done all the same: look before you repeat it';
}
