import { fold, isStripped } from '../wire/headers.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that pass, and describe a body, speak to a proxy or make a handshake. */
const takenPrefixes = ['content-', 'proxy-', 'sec-websocket-'];
/** It stands in every line of the log. */
const logged = 'user-agent';

/** Says why what is ours, such as the key, cannot travel in this header; undefined when it can. */
export function headerNameFault(name: string, what = 'a key'): string | undefined {
  if (!token.test(name) || name.length > 100) return 'is not a header name';
  const folded = fold(name);
  const isTaken = isStripped(folded) || takenPrefixes.some((prefix) => folded.startsWith(prefix));
  if (isTaken || folded === logged) {
    return `is a header with a meaning of its own, ${what} cannot travel in it`;
  }
  return undefined;
}
