const millisecondsOf = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const bytesOf = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const;

/** A timer set for longer than this fires at once (Node keeps its delay in 31 bits), so nothing longer is accepted. */
export const durationMsMax = 24 * millisecondsOf.d;

/** The regular expressions of both units, for editors that check the file without this code. */
export const durationPattern = '^[0-9]+(ms|s|m|h|d)$';
export const sizePattern = '^[0-9]+(B|KB|MB|GB)$';

/** `250ms`, `10s`, `5m`, `2h`, `7d` in milliseconds; undefined when it is not a duration, or too long to count. */
export function parseDuration(text: string): number | undefined {
  return amount(text, durationPattern, millisecondsOf);
}

/** `512B`, `16KB`, `10MB`, `1GB` in bytes, with powers of 1024; undefined when it is not a size, or too large to count. */
export function parseSize(text: string): number | undefined {
  return amount(text, sizePattern, bytesOf);
}

/** A number of bytes as people read it in a sentence: `10 MB`, `1.5 KB`, `1 byte`. */
export function printSize(bytes: number): string {
  const units = ['KB', 'MB', 'GB'];
  let value = bytes;
  let unit = bytes === 1 ? 'byte' : 'bytes';
  for (const larger of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${unit}`;
}

function amount(text: string, pattern: string, units: Readonly<Record<string, number>>): number | undefined {
  const unit = new RegExp(pattern).exec(text)?.[1];
  const factor = unit === undefined ? undefined : units[unit];
  if (factor === undefined) return undefined;
  const value = Number.parseInt(text, 10) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}
