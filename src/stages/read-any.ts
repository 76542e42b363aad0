import type { Arriving } from '../bodies/arriving-body.ts';
import { inMemory, noBodyMemory, type BodyMemory } from '../bodies/body-memory.ts';
import type { Body } from '../bodies/body.ts';
import { tooLarge } from '../bodies/collect-body.ts';
import { waitForFirst } from '../bodies/first-chunk.ts';
import { bufferedBytesMax } from '../config/held-bytes.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { lettingGo } from '../wire/let-go.ts';

/** How a body that is not examined is read. */
interface AnyOrder {
  readonly contentLength: number | undefined;
  readonly sizeMax: number;
  readonly memory: BodyMemory;
}

/**
 * An arriving body → Body. 400 408 413 499 503.
 * What is worth buffering can be sent again to another target; a larger body, or a longer chunked one, streams.
 */
export async function readAny(arriving: Arriving, order: AnyOrder): Promise<Body> {
  const { contentLength, sizeMax, memory } = order;
  const chunks = bounded(arriving, sizeMax);
  if (contentLength !== undefined && contentLength > bufferedBytesMax) {
    return await streamOnce(chunks, contentLength, () => arriving.stop());
  }
  const collected = new CollectedBytes(sizeMax);
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const chunk = next.value;
      if (collected.length + chunk.length > bufferedBytesMax) {
        const { bytes, release: giveBack } = inMemory(collected.take(), memory);
        const all = joined([bytes, chunk], chunks, giveBack);
        return await streamOnce(all, undefined, () => {
          giveBack();
          arriving.stop();
        });
      }
      if (!memory.take(chunk.length)) throw noBodyMemory();
      collected.takeOver(chunk);
    }
  } catch (error) {
    arriving.stop();
    memory.giveBack(collected.length);
    throw error;
  }
  return inMemory(collected.take(), memory);
}

/**
 * Goes on once the first chunk has come: a client that takes its time with it keeps no connection from others, and none that its
 * upstream may take for idle.
 */
async function streamOnce(
  chunks: AsyncGenerator<Buffer, void>,
  length: number | undefined,
  release: () => void,
): Promise<Body> {
  const read = await waitForFirst(chunks);
  return { kind: 'stream', length, read: () => lettingGo(read()), release };
}

async function* bounded(chunks: AsyncIterable<Buffer>, sizeMax: number): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > sizeMax) throw tooLarge(sizeMax);
    yield chunk;
  }
}

/**
 * What was collected of a body before it proved too large for that, which counts as held until the next chunk is asked for, the
 * chunk that was too much, and the rest. Holds only the chunk being asked for.
 */
async function* joined(
  beginning: Buffer[],
  rest: AsyncGenerator<Buffer, void>,
  giveBack: () => void,
): AsyncGenerator<Buffer, void> {
  for (let chunk = beginning.shift(); chunk !== undefined; chunk = beginning.shift()) {
    if (beginning.length === 0) giveBack();
    yield chunk;
  }
  yield* rest;
}
