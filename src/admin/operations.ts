import { isKeyId } from '../keys/key-id.ts';
import type { Operation } from './operation.ts';
import { importOperations } from './operations/import.ts';
import { keyOperations } from './operations/keys.ts';
import { readOperations } from './operations/read.ts';
import { usageOperations } from './operations/usage.ts';
import { AdminProblem } from './problem.ts';

/** All that the admin API can do. */
export const operations: readonly Operation[] = [
  ...keyOperations,
  ...usageOperations,
  ...importOperations,
  ...readOperations,
];

/** Paths must match to the letter: an escape, a second slash or a dot segment makes another path, which is unknown. */
export function findOperations(path: string): { readonly id: string; readonly found: readonly Operation[] } {
  const given = path.split('/');
  const found = operations.filter((operation) => fits(given, operation.path.split('/')));
  const [first] = found;
  if (first === undefined) throw new AdminProblem('not_found', 'Not found');
  return { id: given[first.path.split('/').indexOf('{id}')] ?? '', found };
}

function fits(given: readonly string[], wanted: readonly string[]): boolean {
  const isSame = (part: string, at: number): boolean =>
    part === '{id}' ? isKeyId(given[at]) : part === given[at];
  return given.length === wanted.length && wanted.every(isSame);
}

/** What can be asked of a path, for the header `Allow`. */
export function allowedOf(found: readonly Operation[]): string {
  const methods = found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
}
