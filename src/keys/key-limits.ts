/** What people may write about a key. Fields are read by these limits, and the admin API publishes them. */
export const lineLengthMax = 200;
export const labelsMax = 32;
export const labelPattern = '^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$';
export const quotasMax = 16;
export const scopesMax = 64;
export const networksMax = 64;
/** What a key may take as JSON, or as a line of an import: one with everything it may have takes some 100 KB. */
export const keyBytesMax = 128 * 1024;
/** What that may unfold into: such a key takes far less. */
export const keyJsonBounds = { depthMax: 8, valuesMax: 10_000 };

/** Whether a text has more characters than this: code points, as JSON Schema counts them, and not units of UTF-16. */
export function isLongerThan(text: string, charactersMax: number): boolean {
  return text.length > charactersMax && Array.from(text).length > charactersMax;
}
