import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 10;
const randomLength = 10;

/** A new id. Ids sort by the moment at which they were made; 50 random bits keep those of one millisecond apart. */
export function createKeyId(now: number): string {
  let time = '';
  for (let rest = now; time.length < timeLength; rest = Math.floor(rest / alphabet.length)) {
    time = alphabet.charAt(rest % alphabet.length) + time;
  }
  const random = [...randomBytes(randomLength)].map((byte) => alphabet.charAt(byte % alphabet.length));
  return `key_${time}${random.join('')}`;
}

/** What an id may look like: it stands in headers, logs and paths as it is. */
export function isKeyId(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
}
