/**
 * Which headers pass, and which never do. Names are compared after folding: lower case, with every character that is not a letter
 * or digit read as `-`. Many servers fold names for the variables that they hand on (CGI and WSGI make `-` and `_` one, PHP `.` too,
 * lighttpd 1.4 every such character), and a client could otherwise slip `X_Gatehouse!Key_Id` past us.
 */

/** Hop-by-hop headers (RFC 9110 §7.6.1, RFC 7540 §3.2.1 for HTTP2-Settings): they end at the gateway, in both directions. */
const hopByHop = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Written by the gateway itself from what it knows of the exchange, never copied from the client. */
const writtenByUs = new Set(['content-length', 'expect', 'forwarded', 'host', 'x-real-ip', 'x-request-id']);

/** Headers with which some upstreams let a client replace the path or method that was checked, or their own environment (httpoxy). */
const smuggling = new Set([
  'proxy',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
]);

const ownedPrefixes = ['x-gatehouse-', 'x-forwarded-'];

/** Names a `Connection` header may not take away from the upstream: they carry the request itself (CVE-2026-105299). */
const notNominable = new Set(['content-type', 'content-length', 'host']);

/** What the gateway judges a body by. It reads exactly these names, so what only imitates them is not passed to an upstream. */
const judgedBy = new Set(['content-encoding', 'content-type']);

const rememberedLengthMax = 64;
const rememberedPerLength = 16;

export function fold(name: string): string {
  const lower = name.toLowerCase();
  return /[^a-z0-9-]/.test(lower) ? lower.replace(/[^a-z0-9-]/g, '-') : lower;
}

/** True for a header that never passes from a client to the upstream. */
export function isStripped(folded: string): boolean {
  return (
    hopByHop.has(folded) ||
    smuggling.has(folded) ||
    writtenByUs.has(folded) ||
    ownedPrefixes.some((prefix) => folded.startsWith(prefix))
  );
}

export type Passes = (name: string) => boolean;

/** Decides, once per spelling of a name, whether a request header passes to the upstream. */
export function createRequestHeaderFilter(keyHeaders: readonly string[], forwardKey: boolean): Passes {
  const keys = new Set(keyHeaders.map(fold));
  const spelt = new Set(keyHeaders.map((name) => name.toLowerCase()));
  return remember(
    (folded, name) =>
      // Only headers of these exact names were checked, and one that imitates them may be somebody else's key.
      (!keys.has(folded) || (forwardKey && spelt.has(name.toLowerCase()))) &&
      !isStripped(folded) &&
      (!judgedBy.has(folded) || name.toLowerCase() === folded),
  );
}

/**
 * `Expect` says nothing in an answer (RFC 9110 §10.1.1), but Node would send the head at once for it, as UTF-8, which changes bytes
 * of the other headers.
 */
const notForAnswers = new Set(['expect', 'x-request-id']);

/** Decides, once per spelling of a name, whether an upstream's response header passes to the client. */
export const responseHeaderPasses: Passes = remember(
  (folded) => !hopByHop.has(folded) && !notForAnswers.has(folded) && !folded.startsWith('x-gatehouse-'),
);

/** An answer has only one of each of these: nobody could read a second limit or a second date. */
const saidOnce = new Set(['deprecation', 'ratelimit', 'ratelimit-policy', 'sunset']);

const isSaidOnce: Passes = remember((folded) => saidOnce.has(folded));

/** The folded names that a `Connection` header nominates as hop-by-hop; undefined for the everyday values. */
function nominated(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || /^(?:close|keep-alive)$/i.test(connection)) return undefined;
  const names = connection
    .split(',')
    .map((name) => fold(name.trim()))
    .filter((name) => !notNominable.has(name));
  return new Set(names);
}

/**
 * Copies the headers that pass, in order and spelling, from one list to another. They are flat as Node's `rawHeaders` is: name,
 * value, name, value.
 */
export function copyHeaders(from: readonly string[], to: string[], passes: Passes): void {
  const dropped = nominated(valueOf(from, 'connection'));
  for (let i = 0; i + 1 < from.length; i += 2) {
    const name = from[i] as string;
    if (passes(name) && !dropped?.has(fold(name))) to.push(name, from[i + 1] as string);
  }
}

/** Adds the gateway's own headers to an upstream's answer. Where only one may stand, ours replaces the upstream's. */
export function addOwn(to: string[], own: readonly string[]): void {
  for (let i = to.length - 2; i >= 0; i -= 2) {
    const name = to[i] as string;
    if (isSaidOnce(name) && hasName(own, fold(name))) to.splice(i, 2);
  }
  for (const item of own) to.push(item);
}

/** Adds headers to a flat list. */
export function addHeaders(to: string[], headers: Readonly<Record<string, string>>): void {
  for (const name in headers) to.push(name, headers[name] as string);
}

/** Takes one header out of a flat list, by its folded name. Repeated ones are joined as HTTP does. */
export function takeHeader(
  from: readonly string[],
  folded: string,
): { readonly value: string | undefined; readonly rest: readonly string[] } {
  const rest: string[] = [];
  const values: string[] = [];
  for (let i = 0; i + 1 < from.length; i += 2) {
    const name = from[i] as string;
    const value = from[i + 1] as string;
    if (fold(name) === folded) values.push(value);
    else rest.push(name, value);
  }
  return { value: values.length === 0 ? undefined : values.join(', '), rest };
}

function hasName(headers: readonly string[], folded: string): boolean {
  return headers.some((item, at) => at % 2 === 0 && fold(item) === folded);
}

/** The value of a header, by its name in lower case; several lines of it make one list, as HTTP says. */
export function valueOf(headers: readonly string[], wanted: string): string | undefined {
  let value: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.length === wanted.length && name.toLowerCase() === wanted) {
      value = value === undefined ? headers[i + 1] : `${value},${headers[i + 1]}`;
    }
  }
  return value;
}

/**
 * Remembers answers by spelling. Spellings come from clients, so the memory is bounded: of each length the oldest makes room.
 * Looked for by length, as a name that has just been read has no hash yet, and a `Map` would work it out for each header of each
 * request and answer: 1.5 % of the CPU of a name call.
 */
function remember(decide: (folded: string, name: string) => boolean): Passes {
  const byLength: { readonly name: string; readonly answer: boolean }[][] = Array.from(
    { length: rememberedLengthMax + 1 },
    () => [],
  );
  return function passes(name) {
    const known = byLength[name.length];
    if (known === undefined) return decide(fold(name), name);
    for (const each of known) if (each.name === name) return each.answer;
    const answer = decide(fold(name), name);
    if (known.length === rememberedPerLength) known.shift();
    known.push({ name, answer });
    return answer;
  };
}
