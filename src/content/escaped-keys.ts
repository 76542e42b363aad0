/**
 * Whether a key of this valid JSON text is written with a backslash. JSON.parse can misread such a key since V8 12.8
 * (nodejs/node#63785): where earlier objects led it to expect the key `\u00`, it takes `"\u0072ole"` for that key, because it
 * compares the raw text. A client can arrange this, and so hide a member from the gateway.
 */
export function hasEscapedKey(text: string): boolean {
  let at = text.indexOf('\\');
  while (at !== -1) {
    const end = endOfString(text, at);
    if (text.charCodeAt(skipBlanks(text, end)) === colon) return true;
    at = text.indexOf('\\', end);
  }
  return false;
}

/**
 * Reads JSON text with escaped keys as JSON.parse should. The text must have passed JSON.parse before: its syntax is trusted here.
 * Strings and other scalars are still left to JSON.parse, which reads them correctly.
 */
export function parseEscapedKeys(text: string): unknown {
  const root: unknown[] = [];
  const parents: Parent[] = [];
  let parent: Parent = { container: root, key: undefined };
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const code = text.charCodeAt(at);
    if (code === openBrace || code === openBracket) {
      const container = code === openBrace ? {} : [];
      place(parent, container);
      parents.push(parent);
      parent = { container, key: undefined };
      at += 1;
    } else if (code === closeBrace || code === closeBracket) {
      parent = parents.pop() ?? parent;
      at += 1;
    } else if (code === comma || code === colon) {
      at += 1;
    } else {
      const end = code === quote ? endOfString(text, at + 1) : endOfWord(text, at);
      place(parent, readScalar(text.slice(at, end)));
      at = end;
    }
  }
  return root[0];
}

/** A string without a backslash is what stands between its quotes, which is much quicker to take than to parse. */
function readScalar(token: string): unknown {
  const isPlain = token.startsWith('"') && !token.includes('\\');
  return isPlain ? token.slice(1, -1) : JSON.parse(token);
}

interface Parent {
  readonly container: object;
  /** The key that waits for its value. */
  key: string | undefined;
}

function place(parent: Parent, value: unknown): void {
  const { container, key } = parent;
  if (Array.isArray(container)) {
    container.push(value);
  } else if (key === undefined) {
    parent.key = String(value);
  } else {
    setMember(container, key, value);
    parent.key = undefined;
  }
}

function setMember(container: object, key: string, value: unknown): void {
  // Assigning would call the setter of `__proto__` instead of making a member; for all others it is several times faster.
  if (key !== '__proto__') (container as Record<string, unknown>)[key] = value;
  else Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The index after the closing quote of the string that holds the index `at`. */
export function endOfString(text: string, at: number): number {
  let end = at;
  while (end < text.length && text.charCodeAt(end) !== quote) {
    end += text.charCodeAt(end) === backslash ? 2 : 1;
  }
  return end + 1;
}

/** With the blanks behind it, which JSON.parse passes over. */
function endOfWord(text: string, at: number): number {
  let end = at;
  while (end < text.length && !wordEnds.includes(text.charAt(end))) end += 1;
  return end;
}

function skipBlanks(text: string, at: number): number {
  let next = at;
  while (next < text.length && text.charCodeAt(next) <= space) next += 1;
  return next;
}

const wordEnds = ',]}';
export const space = 0x20;
export const quote = 0x22;
export const comma = 0x2c;
const colon = 0x3a;
export const openBracket = 0x5b;
const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
