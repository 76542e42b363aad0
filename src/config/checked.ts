import { parseAddress } from './addresses.ts';
import type { Address } from './config.ts';
import { parseInstant } from './instants.ts';
import { parseDuration, parseSize } from './units.ts';

/** A value that earlier checks have ensured. A gap in them must stop the start, not turn into a limit that is missing. */
export function checked<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A checked configuration lacks a value');
  return value;
}

/** The milliseconds of a checked duration. */
export function duration(text: string): number {
  return checked(parseDuration(text));
}

/** The milliseconds since the epoch of a checked instant. */
export function instant(text: string): number {
  return checked(parseInstant(text));
}

/** The host and port of a checked address. */
export function address(text: string | number): Address {
  return checked(parseAddress(text));
}

/** The bytes of a checked size. */
export function size(text: string): number {
  return checked(parseSize(text));
}
