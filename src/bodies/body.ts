/** The body of a request as it goes to an upstream. */
export type Body = BytesBody | StreamedBody;

/** All of it is in memory, so it can be sent again. */
export interface BytesBody {
  readonly kind: 'bytes';
  readonly bytes: Buffer;
  readonly length: number;
  /** Lets go of what the body holds. Safe to call at any time and more than once. */
  readonly release: () => void;
}

/** It is read while it is sent. */
export interface StreamedBody {
  readonly kind: 'stream';
  /** Undefined when it is only known at the end. */
  readonly length: number | undefined;
  /**
   * Throws a Refusal where the body breaks its rule. It is called again only while no chunk but the first has been asked for, and
   * then starts from that one. A chunk is the reader's until it asks for the next.
   */
  readonly read: () => AsyncIterable<Buffer>;
  /** Lets go of what the body holds. Call it once, at any time: each call gives its memory back. */
  readonly release: () => void | Promise<void>;
}

export const noBody: BytesBody = { kind: 'bytes', bytes: Buffer.alloc(0), length: 0, release: () => {} };

/** A body as it is sent. */
export function chunksOf(body: Body): AsyncIterable<Buffer> | Iterable<Buffer> {
  return body.kind === 'stream' ? body.read() : piecesOf(body.bytes);
}

/** In pieces, so that a slow upstream is seen to take a large body. */
export function* piecesOf(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += pieceMax) yield bytes.subarray(at, at + pieceMax);
}

const pieceMax = 64 * 1024;
