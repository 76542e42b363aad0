import { closest, distance } from 'fastest-levenshtein';
import { isObject } from '../content/is-object.ts';

const shownMax = 40;
const namesMax = 20;

/** A value as a sentence may show it: short, on one line, without the credentials of a URL. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  return typeof value === 'string' ? showText(withoutCredentials(withoutNextLine(value))) : String(value);
}

/** The same of a text in which an @ or a colon means nothing, as in a regular expression. */
export function showText(text: string): string {
  const shown = JSON.stringify(text.length > shownMax ? `${text.slice(0, shownMax)}…` : text);
  return shown.replaceAll(unseen, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** Signs that look like a space, or like nothing, or play tricks on terminals; JSON escapes only those below U+0020. */
const unseen = /[^\S ]|[\p{Cc}\p{Cf}]/gu;

/** Whether a key of the file may be shown whole. A longer one, or one with other characters, may be a secret. */
export function isPlainName(name: string): boolean {
  return /^\$?[\w-]{1,41}$/.test(name);
}

/** Enough of a key to tell which one it is: the letters it begins with. */
export function startOfName(name: string): string {
  return `${/^[A-Za-z]{0,30}/.exec(name)?.[0] ?? ''}…`;
}

/** A key of the file as a sentence may show it. */
export function showName(name: string): string {
  return JSON.stringify(isPlainName(name) ? name : startOfName(name));
}

/** Blanks and signs that look like a space, or like nothing, and mean something else to YAML. Web pages have them. */
const noPlainSpace = /[^\S ]|\p{Cf}/gu;

/**
 * What is said of `secret:text`, which YAML takes for one key, of what stands behind the comma of `1,000`, a key without a value, and of
 * a blank that parts nothing; nothing for any other name.
 */
export function slipIn(name: string, value?: unknown): string | undefined {
  if (/^[A-Za-z]+:/.test(name)) return 'a space is missing after the colon';
  if (value === null && /^\d{3}$/.test(name)) return 'numbers are written without commas';
  return name.search(noPlainSpace) === -1 ? undefined : 'a blank in it is no plain space';
}

/** `, did you mean "upstream"?` when one of the names is near, otherwise the names, otherwise nothing. */
export function suggest(wrong: string, names: readonly string[]): string {
  const near = suggestNear(wrong, names);
  if (near !== '' || names.length === 0) return near;
  const more = names.length > namesMax ? ` or ${names.length - namesMax} more` : '';
  return `, choose from ${names.slice(0, namesMax).join(', ')}${more}`;
}

/** The same without a list, for when other names could be meant as well. */
export function suggestNear(wrong: string, names: readonly string[]): string {
  const best = nearest(wrong, names);
  return best === undefined ? '' : `, did you mean "${best}"?`;
}

/** Whether a mapping lacks an option because another name stands there for it, at which that is said. */
export function isMisspelt(option: string, holder: object, options: readonly string[]): boolean {
  return Object.keys(holder).some((name) => nearest(name, options) === option);
}

/** `a`, `a or b`, `a, b or c`. Not by `Intl.ListFormat`, which takes 6 MB while the process lives. */
export function listed(conjunction: 'and' | 'or', words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} ${conjunction} ${last}`;
}

/** `1 key`, `2 keys`. */
export function counted(count: unknown, thing: string): string {
  return `${String(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** A line indented too far and without a space after its colon becomes part of the value above it, secret and all. */
function withoutNextLine(text: string): string {
  return text.replace(/\s\w+:\S[^]*$/, ' …');
}

/** Also where the `//` of the address is missing, so that what stands before the `@` could be anything. */
function withoutCredentials(text: string): string {
  const to = text.lastIndexOf('@');
  if (to === -1) return text;
  const scheme = /^[a-z+]+:\/\//i.exec(text)?.[0] ?? '';
  return `${scheme}***${text.slice(to)}`;
}

function nearest(wrong: string, names: readonly string[]): string | undefined {
  const lower = wrong.toLowerCase();
  const exact = names.find((name) => name.toLowerCase() === lower);
  if (exact !== undefined || names.length === 0 || wrong.length > 100) return exact;
  const swapped = names.find((name) => isSwap(lower, name.toLowerCase()));
  if (swapped !== undefined) return swapped;
  const best = closest(wrong, names);
  const shorter = Math.min(wrong.length, best.length);
  // A slip seldom hits the first letter: who writes quota_exceeded does not mean rate_exceeded.
  const begins = lower.startsWith(best.charAt(0).toLowerCase());
  const most = shorter < 2 ? 0 : Math.max(1, begins ? Math.floor(shorter / 3) : 0);
  return distance(lower, best.toLowerCase()) <= most ? best : undefined;
}

/** Whether two neighbouring letters have changed places, a common slip that the distance takes for two. */
function isSwap(wrong: string, name: string): boolean {
  const at = wrong.split('').findIndex((letter, index) => letter !== name[index]);
  const swapped = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2);
  return at !== -1 && wrong === swapped;
}
