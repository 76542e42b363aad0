import { parseDuration, parseSize } from './units.ts';

/** What the checks before this have made sure of. A gap in them must stop the start, not become a limit that is not there. */
export function checked<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A checked configuration lacks a value');
  return value;
}

/** The milliseconds of a checked duration. */
export function duration(text: string): number {
  return checked(parseDuration(text));
}

/** The bytes of a checked size. */
export function size(text: string): number {
  return checked(parseSize(text));
}
