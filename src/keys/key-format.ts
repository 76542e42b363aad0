import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * The secret of a key made here: `<prefix>_<27 characters>_<6 characters>`, all letters, digits and underscores, so that a double
 * click selects all of it. The middle holds 160.7 random bits; the end is a checksum of what comes before it, which shows a
 * mistyped key without asking the store.
 */
export interface KeyFormat {
  create(): string;
  /** Whether the text is a secret made here, one with a mistake in it, or of another format, which may begin the same way. */
  judge(secret: string): 'sound' | 'mistyped' | 'foreign';
  /** What may be shown of a secret so that people can tell it from others. */
  startOf(secret: string): string;
  /** A regular expression for secret scanners: POSIX extended, PCRE, RE2 and JavaScript read it alike. */
  readonly pattern: string;
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 27;
const checksumLength = 6;
const shownLength = 4;
/** A foreign secret shorter than this would lose too much of its strength with its first characters. */
const foreignLengthToShow = 24;
/** The greatest multiple of 62 in a byte: what lies above would make some characters likelier than others. */
const fairBytes = 248;

const behindPrefix = `_[0-9A-Za-z]{${randomLength}}_[0-9A-Za-z]{${checksumLength}}`;
/** What two of them share is looked at for both: a prefix may end like the middle of a secret. */
const ends = new RegExp(`(?=(${behindPrefix}))`, 'g');
const prefixLengthMax = 32;
/**
 * To the end of the word: a prefix may end like the middle of a secret. Then the first characters of the true middle pass for a
 * checksum, and the rest of the secret comes after them.
 */
const anywhere = new RegExp(`${behindPrefix}\\w*`, 'g');

/** A text without any secrets made here, whatever their prefix: it may have been another once. */
export function withholdSecrets(text: string): string {
  return text.replace(anywhere, '_…');
}

/** Whether a text is or holds a secret made here, whatever its prefix. */
export function holdsSecret(text: string): boolean {
  for (const { index, 1: end = '' } of text.matchAll(ends)) {
    // Where the prefix begins only the checksum tells: there may be other letters in front of it.
    for (let length = 1; length <= Math.min(index, prefixLengthMax); length += 1) {
      if (hasItsChecksum(text.slice(index - length, index) + end)) return true;
    }
  }
  return false;
}

export function createKeyFormat(prefix: string): KeyFormat {
  const head = `${prefix}_`;
  const pattern = `${prefix}${behindPrefix}`;
  const whole = new RegExp(`^${pattern}$`);
  /** With a character too many or too few. Both parts are needed: keys made elsewhere are a prefix and a middle, too. */
  const near = new RegExp(`^${head}${aboutAsLong(randomLength)}_${aboutAsLong(checksumLength)} ?$`);
  const isOurs = (secret: string): boolean => whole.test(secret) && hasItsChecksum(secret);
  return {
    pattern: `\\b${pattern}\\b`,
    create() {
      const body = `${head}${randomText(randomLength)}`;
      return `${body}_${checksum(body)}`;
    },
    judge(secret) {
      if (isOurs(secret)) return 'sound';
      return near.test(secret) ? 'mistyped' : 'foreign';
    },
    startOf(secret) {
      // Others may begin like this too, and be short enough that this is all of them.
      if (isOurs(secret)) return secret.slice(0, head.length + shownLength);
      return secret.length < foreignLengthToShow ? '' : secret.slice(0, shownLength);
    },
  };
}

function aboutAsLong(length: number): string {
  return `[0-9A-Za-z]{${length - 1},${length + 1}}`;
}

function hasItsChecksum(secret: string): boolean {
  return secret.endsWith(checksum(secret.slice(0, -checksumLength - 1)));
}

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < fairBytes && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

/** CRC-32 (RFC 1952) in base 62: it catches every mistake in one place, and all others but one in four thousand million. */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let at = 0; at < checksumLength; at += 1) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
