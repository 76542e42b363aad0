import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects what is no longer used: of the young generation only, or all that can be spared. */
export type Collect = (how: { readonly type: 'minor' | 'major'; readonly flavor?: 'last-resort' }) => void;

/** V8's own collector, which Node shows only to who starts it with a flag. Where it cannot be had, nothing is collected. */
export function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (how) => void found(how) : () => undefined;
}
