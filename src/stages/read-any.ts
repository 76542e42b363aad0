import { inMemory, type BodyMemory } from '../bodies/body-memory.ts';
import { tooLarge } from '../bodies/collect-body.ts';
import { CollectedBytes } from '../collected-bytes.ts';
import { bufferedBytesMax } from '../config/held-bytes.ts';
import { lettingGo } from '../let-go.ts';
import { overloaded } from '../refusals.ts';
import type { ArrivingBody } from '../uploads/arriving-body.ts';
import { noBody, type Body, type BytesBody } from '../upstream/body.ts';
import { waitForFirst } from '../upstream/first-chunk.ts';

/** What a body that is not looked into is read by. */
export interface AnyOrder {
  readonly contentLength: number | undefined;
  readonly sizeMax: number;
  readonly memory: BodyMemory;
}

/**
 * An arriving body → Body. 400 408 413 503.
 * What is worth buffering can be sent again to another target; a larger body, or a longer chunked one, streams.
 */
export async function readAny(arriving: ArrivingBody, order: AnyOrder): Promise<Body> {
  const { contentLength, sizeMax, memory } = order;
  const chunks = bounded(arriving.chunks, sizeMax);
  if (contentLength !== undefined && contentLength > bufferedBytesMax) {
    return await streamOnce({ arriving, first: noBody, chunks }, contentLength);
  }
  const collected = new CollectedBytes(sizeMax);
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const chunk = next.value;
      if (collected.length + chunk.length > bufferedBytesMax) {
        const first = inMemory(collected.take(), memory);
        return await streamOnce({ arriving, first, chunks: joined(first, chunk, chunks) }, undefined);
      }
      if (!memory.take(chunk.length)) throw overloaded();
      collected.takeOver(chunk);
    }
  } catch (error) {
    arriving.stop();
    memory.giveBack(collected.length);
    throw error;
  }
  return inMemory(collected.take(), memory);
}

/** A body that is still arriving. */
interface Streaming {
  readonly arriving: ArrivingBody;
  /** What was collected of it before it was clear that it is too large for that. */
  readonly first: BytesBody;
  /** All of it, `first` included. */
  readonly chunks: AsyncGenerator<Buffer, void>;
}

/**
 * It goes on once its first chunk has come: a client that takes its time with it keeps no connection from others, and none that
 * its upstream may take for idle.
 */
async function streamOnce({ arriving, first, chunks }: Streaming, length: number | undefined): Promise<Body> {
  const read = await waitForFirst(chunks);
  return {
    kind: 'stream',
    length,
    read: () => lettingGo(read()),
    repeatable: false,
    release: async () => {
      first.release();
      arriving.stop();
      await chunks.return();
    },
  };
}

async function* bounded(chunks: AsyncIterable<Buffer>, sizeMax: number): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > sizeMax) throw tooLarge(sizeMax);
    yield chunk;
  }
}

async function* joined(
  first: BytesBody,
  chunk: Buffer,
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  yield first.bytes;
  first.release();
  yield chunk;
  yield* rest;
}
