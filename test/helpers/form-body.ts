/** A part as a client would send it; `headers` replaces the header lines as a whole. */
export interface Part {
  readonly name?: string;
  readonly fileName?: string;
  readonly type?: string;
  readonly headers?: string;
  readonly data: Buffer | string;
}

export const boundary = '----gatehouse7MA4YWxkTrZu0gW';

/** The bytes of a form in the shape that browsers send. */
export function formBody(parts: readonly Part[], mark = boundary): Buffer {
  const pieces = parts.flatMap((part) => [
    Buffer.from(`--${mark}\r\n${part.headers ?? headersOf(part)}\r\n\r\n`),
    Buffer.from(part.data),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${mark}--\r\n`)]);
}

/** The bytes as a stream of chunks of one size. */
export async function* chunksOf(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function headersOf({ name = 'field', fileName, type }: Part): string {
  const disposition = `Content-Disposition: form-data; name="${name}"`;
  const file = fileName === undefined ? '' : `; filename="${fileName}"`;
  return `${disposition}${file}${type === undefined ? '' : `\r\nContent-Type: ${type}`}`;
}
