import { hash, randomBytes } from 'node:crypto';
import { namePattern } from '../config/name-pattern.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 10;
const randomLength = 10;
const keyId = new RegExp(namePattern);

/** A new id. Ids sort by the moment at which they were made; 50 random bits keep those of one millisecond apart. */
export function createKeyId(now: number): string {
  let time = '';
  for (let rest = now; time.length < timeLength; rest = Math.floor(rest / alphabet.length)) {
    time = alphabet.charAt(rest % alphabet.length) + time;
  }
  return `key_${time}${lettersOf(randomBytes(randomLength))}`;
}

/** The id of the key that a named request makes: the same name gives the same id, on every gateway and at any time. */
export function keyIdOf(name: string): string {
  return `key_${lettersOf(hash('sha256', name, 'buffer').subarray(0, timeLength + randomLength))}`;
}

/** A letter for each byte: there are 32, so all are equally likely. */
function lettersOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join('');
}

/** What an id may look like: it appears in headers, logs and paths as it is. */
export function isKeyId(text: unknown): text is string {
  return typeof text === 'string' && keyId.test(text);
}
