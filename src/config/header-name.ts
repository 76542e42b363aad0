import { fold, isStripped } from '../headers.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Of those that pass, headers that describe a body or speak to a proxy. */
const takenPrefixes = ['content-', 'proxy-'];

/** Says why what is ours, such as the key, cannot travel in this header; undefined when it can. */
export function headerNameFault(name: string, what = 'a key'): string | undefined {
  if (!token.test(name) || name.length > 100) return 'is not a header name';
  const folded = fold(name);
  if (isStripped(folded) || takenPrefixes.some((prefix) => folded.startsWith(prefix))) {
    return `is a header with a meaning of its own, ${what} cannot travel in it`;
  }
  return undefined;
}
