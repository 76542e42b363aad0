/** Beyond this a body of any type is forwarded while it arrives. */
export const bufferedBytesMax = 64 * 1024;

/** What a text field has besides its value: a name of up to 256 characters, and a line for that. */
const fieldHeadMax = 1024;

/** The bytes of text fields, names and all, that a form of at most this size can make the gateway hold. */
export function fieldsHeldMax(fields: FieldBounds, formMax: number): number {
  return Math.min(fields.countMax * (fields.sizeMax + fieldHeadMax), formMax);
}

interface FieldBounds {
  readonly countMax: number;
  readonly sizeMax: number;
}
