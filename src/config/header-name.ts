import { fold, isStripped } from '../wire/headers.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers passed on that describe a body, speak to a proxy or make a handshake. */
const takenPrefixes = ['content-', 'proxy-', 'sec-websocket-'];
/** `User-Agent` is in every log line. */
const taken: ReadonlySet<string> = new Set(['cookie', 'set-cookie', 'user-agent']);

/** Why the gateway's own data, such as the key, cannot travel in this header; undefined when it can. */
export function headerNameFault(name: string, what = 'a key'): string | undefined {
  if (!token.test(name) || name.length > 100) return 'is not a header name';
  const folded = fold(name);
  if (isStripped(folded) || taken.has(folded) || takenPrefixes.some((prefix) => folded.startsWith(prefix))) {
    return `is a header with a meaning of its own, ${what} cannot travel in it`;
  }
  return undefined;
}
