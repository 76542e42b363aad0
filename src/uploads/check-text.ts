import { isUtf8 } from 'node:buffer';

/** Watches the bytes of a file that claims to be text. */
interface TextCheck {
  /** False from the first chunk that cannot be UTF-8 text without NUL. */
  readonly write: (chunk: Buffer) => boolean;
  /** Whether all of it was text: false when it broke off inside a character. */
  readonly end: () => boolean;
}

/** Checks that a stream of bytes is UTF-8 without NUL, wherever it is cut into chunks. */
export function createTextCheck(): TextCheck {
  let cut: Buffer = Buffer.alloc(0);
  let valid = true;
  const write = (chunk: Buffer): boolean => {
    if (!valid) return false;
    const bytes = cut.length === 0 ? chunk : Buffer.concat([cut, chunk]);
    const whole = bytes.length - cutCharacterLength(bytes);
    valid = isUtf8(bytes.subarray(0, whole)) && !bytes.includes(0);
    cut = Buffer.from(bytes.subarray(whole));
    return valid;
  };
  return { write, end: () => valid && cut.length === 0 };
}

/** How many bytes at the end begin a character that is not complete (RFC 3629 §3), 0 to 3. */
function cutCharacterLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}
