import { isContainer } from '../content/is-object.ts';

/** Extends a JSON pointer (RFC 6901) by one step. */
export function childPointer(pointer: string, step: string): string {
  return `${pointer}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The pointer without its last step. */
export function holderOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

/** The steps of a pointer, as names are written. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is at a pointer. */
export function valueAt(root: unknown, pointer: string): unknown {
  let at = root;
  for (const step of stepsOf(pointer)) {
    if (!isContainer(at) || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  return at;
}

/** Whether a pointer equals another, or leads further down from it. */
export function isAtOrBelow(pointer: string, above: string): boolean {
  return pointer === above || pointer.startsWith(`${above}/`);
}
