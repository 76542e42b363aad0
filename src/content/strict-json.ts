import { isUtf8 } from 'node:buffer';
import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  hasEscapedKey,
  openBrace,
  openBracket,
  parseEscapedKeys,
  quote,
  space,
} from './escaped-keys.ts';
import { isContainer, type Container } from './is-object.ts';

/** Why a body was not taken as JSON. The message is a public sentence and never holds anything the client sent. */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
}

/** The most that a text may unfold into. */
export interface JsonBounds {
  /** A scalar has depth 0, `[]` has depth 1. */
  readonly depthMax: number;
  /** Objects, arrays and scalars, all together. */
  readonly valuesMax: number;
}

/**
 * Parses JSON that every parser reads the same way (I-JSON, RFC 7493), or throws a `JsonProblem`. Besides malformed text it
 * refuses what parsers are known to disagree about: duplicate keys, `__proto__`, NUL in a key, half surrogate pairs, numbers too
 * large for a double, a byte order mark.
 * Time is linear in the size of the body and no recursion follows its nesting. Memory is that of the text and of the values
 * allowed: they are counted before any is made, because `[]` takes three bytes in a text and over a hundred in a tree.
 */
export function parseStrictJson(bytes: Buffer, { depthMax, valuesMax }: JsonBounds): unknown {
  const text = bytes.toString('utf8');
  const escaped = text.includes('\\');
  const counted = count(text, escaped);
  if (counted.values > valuesMax) throw new JsonProblem(`The body must have at most ${valuesMax} values`);
  const parsed = parse(text, bytes);
  // Decoding replaces bytes that are not UTF-8 with U+FFFD, so only a text that has one needs a second look.
  if (text.includes('\uFFFD') && !isUtf8(bytes)) throw new JsonProblem('The body is not valid UTF-8');
  const value = escaped && hasEscapedKey(text) ? parseEscapedKeys(text) : parsed;
  const strings = checkScalar(value, escaped) + checkLevels(value, escaped, depthMax);
  if (strings !== counted.strings) throw new JsonProblem('The body has a duplicate key');
  return value;
}

function parse(text: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The SyntaxError quotes the text, so it must not be passed on, not even as a cause.
    throw new JsonProblem(explainMalformed(text, bytes));
  }
}

function explainMalformed(text: string, bytes: Buffer): string {
  if (!isUtf8(bytes)) return 'The body is not valid UTF-8';
  if (text.startsWith('\uFEFF')) return 'The body starts with a byte order mark';
  return text.trim() === '' ? 'The body is empty' : 'The body is not valid JSON';
}

/** Goes through the tree level by level, so that depth costs no stack. Returns how many keys and strings it holds. */
function checkLevels(root: unknown, escaped: boolean, depthMax: number): number {
  let strings = 0;
  let level = isContainer(root) ? [root] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > depthMax) throw new JsonProblem('The body is nested too deeply');
    const below: Container[] = [];
    for (const container of level) {
      strings += Array.isArray(container)
        ? checkItems(container, escaped, below)
        : checkMembers(container, escaped, below);
    }
    level = below;
  }
  return strings;
}

function checkItems(items: readonly unknown[], escaped: boolean, below: Container[]): number {
  let strings = 0;
  for (const item of items) {
    if (isContainer(item)) below.push(item);
    else strings += checkScalar(item, escaped);
  }
  return strings;
}

function checkMembers(
  members: Readonly<Record<string, unknown>>,
  escaped: boolean,
  below: Container[],
): number {
  const keys = Object.keys(members);
  let strings = keys.length;
  for (const key of keys) {
    // `__proto__` becomes an ordinary key here and the prototype of the object in many a merge behind the gateway.
    if (key === '__proto__') throw new JsonProblem('The body has a key that is not allowed');
    if (escaped) checkKey(key);
    const value = members[key];
    if (isContainer(value)) below.push(value);
    else strings += checkScalar(value, escaped);
  }
  return strings;
}

/** NUL and half surrogates can only be written as escapes, so keys of a text without a backslash skip this. */
function checkKey(key: string): void {
  if (key.includes('\0')) throw new JsonProblem('The body has a key that is not allowed');
  if (!key.isWellFormed()) throw new JsonProblem(surrogateSentence);
}

/** Returns 1 for a string, 0 for anything else. */
function checkScalar(value: unknown, escaped: boolean): number {
  if (typeof value === 'string') {
    if (escaped && !value.isWellFormed()) throw new JsonProblem(surrogateSentence);
    return 1;
  }
  if (value === Infinity || value === -Infinity)
    throw new JsonProblem('The body has a number that is too large');
  return 0;
}

/**
 * Counts the strings and values in a text, correctly if it turns out to be JSON; there, a backslash occurs only inside strings,
 * where it takes the next character with it.
 * Duplicate keys are found by these counts. In the text every key and every string value is one pair of quotes; in the tree a
 * duplicate has replaced the earlier member, so its key (and whatever was inside) is missing there. The two counts are equal
 * exactly when no key was given twice, after unescaping, at any level.
 */
function count(text: string, escaped: boolean): { readonly strings: number; readonly values: number } {
  let strings = 0;
  let values = 1;
  let last = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= space) continue;
    if (code === quote) {
      strings += 1;
      at = closingQuote(text, at + 1, escaped);
    } else if (code === comma || isOpening(code)) {
      values += 1;
    } else if (isOpening(last) && isClosing(code)) {
      // The value counted at its opening is not there.
      values -= 1;
    }
    last = code;
  }
  return { strings, values };
}

/** Looking for the quote alone is several times faster, where none can be escaped: base64 in a field may be long. */
function closingQuote(text: string, from: number, escaped: boolean): number {
  if (escaped) return endOfString(text, from) - 1;
  const at = text.indexOf('"', from);
  return at === -1 ? text.length : at;
}

function isOpening(code: number): boolean {
  return code === openBracket || code === openBrace;
}

function isClosing(code: number): boolean {
  return code === closeBracket || code === closeBrace;
}

const surrogateSentence = 'The body has text that is not valid Unicode';
