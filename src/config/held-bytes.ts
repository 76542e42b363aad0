/** Beyond this a body of any type is forwarded while it arrives. */
export const bufferedBytesMax = 64 * 1024;

/** What a text field has besides its value: a name of up to 256 characters, and a line for that. */
const fieldHeadMax = 1024;

/** The bytes of text fields, names and all, that a form can make the gateway hold. */
export function fieldsBytesMax(countMax: number, sizeMax: number): number {
  return countMax * (sizeMax + fieldHeadMax);
}
