/**
 * A text as a header can hold it: no two texts look the same, and whatever decodes URLs reads it back. Encoded is what is not ASCII,
 * as servers disagree on such bytes (RFC 9110 §5.5), a blank at either end, which is no part of a value, `%`, and `+`, which
 * decoders of forms read as a blank.
 */
export function percentEncode(text: string): string {
  return text.replace(/[^ -~]+|[%+]|^ | $/gu, encodeURIComponent);
}
