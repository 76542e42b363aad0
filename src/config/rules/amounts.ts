import { parseDuration, parseSize } from '../units.ts';

/** The bytes of a size as it is written; 0 for a text that is not a size, which is reported already. */
export function sizeOrZero(text: string): number {
  return parseSize(text) ?? 0;
}

/** The milliseconds of a duration, in the same way. */
export function durationOrZero(text: string): number {
  return parseDuration(text) ?? 0;
}
