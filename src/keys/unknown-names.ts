import { suggest } from '../config/wording.ts';
import type { FieldFault } from './key-problem.ts';

/** More than anybody writes. Looking for a name that is near takes its time, and a body has room for ten thousand. */
const namesMax = 32;

/** Whether it is shorter than a secret that cannot be guessed: one may have been put in the place of a name. */
export function isHarmless(name: string): boolean {
  return /^[A-Za-z_]\w{0,14}$/.test(name);
}

/**
 * Says, name by name, that there is no such field or parameter among these, so that neither a sentence nor the names to choose from
 * appear twice. Of very many names only the first are looked at. Where a secret may be as short as a name, none is repeated
 * (`mayName`).
 */
export function createUnknownNames(
  kind: 'field' | 'parameter',
  names: readonly string[],
  { mayName = true } = {},
): (name: string) => readonly FieldFault[] {
  const said = new Set<string>();
  let looked = 0;
  return function tell(name) {
    if (looked === namesMax) return [];
    looked += 1;
    const field = mayName && isHarmless(name) ? name : '';
    const cure = suggest(name, names);
    const isNews = !said.has(cure);
    said.add(cure);
    if (field !== '') return [{ field, message: `is not a ${kind}${isNews ? cure : ''}` }];
    return isNews ? [{ field, message: `there is no such ${kind}${cure}` }] : [];
  };
}
