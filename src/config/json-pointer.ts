/** Steps from the root of a value to a part of it: names of members, and places in lists. */
export type Path = readonly (string | number)[];

/** The JSON pointer (RFC 6901) of a path. */
export function pointerTo(path: Path): string {
  return path.reduce<string>((pointer, step) => childPointer(pointer, String(step)), '');
}

/** Extends a pointer by one step. */
export function childPointer(pointer: string, step: string): string {
  return `${pointer}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The steps of a pointer, as names are written. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Whether a pointer equals another, or leads further down from it. */
export function isAtOrBelow(pointer: string, above: string): boolean {
  return pointer === above || pointer.startsWith(`${above}/`);
}
