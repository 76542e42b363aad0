/** Most lists of most keys are empty, and many keys may be kept: these share one. */
export const none: readonly never[] = Object.freeze([]);

/** The value, or nothing in place of an empty text, list or map: JSON leaves that out. */
export function filled<T extends string | object>(value: T): T | undefined {
  const { length } = typeof value === 'string' || Array.isArray(value) ? value : Object.keys(value);
  return length === 0 ? undefined : value;
}
