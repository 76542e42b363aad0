import type { ArrivingBody } from '../bodies/arriving-body.ts';
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
 * An arriving body → Body. 400 408 413 503.
 * What is worth buffering can be sent again to another target; a larger body, or a longer chunked one, streams.
 */
export async function readAny(arriving: ArrivingBody, order: AnyOrder): Promise<Body> {
  const { contentLength, sizeMax, memory } = order;
  const chunks = bounded(arriving.chunks, sizeMax);
  if (contentLength !== undefined && contentLength > bufferedBytesMax) {
    return await streamOnce({ arriving, beginning: undefined, chunks }, contentLength);
  }
  const collected = new CollectedBytes(sizeMax);
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const chunk = next.value;
      if (collected.length + chunk.length > bufferedBytesMax) {
        const beginning = new Beginning(collected.take(), chunk, memory);
        return await streamOnce({ arriving, beginning, chunks: joined(beginning, chunks) }, undefined);
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

/** A body that is still arriving. */
interface Streaming {
  readonly arriving: ArrivingBody;
  /** What was collected of it before it proved too large for that, if anything was. */
  readonly beginning: Beginning | undefined;
  /** All of it, the beginning included. */
  readonly chunks: AsyncGenerator<Buffer, void>;
}

/**
 * Goes on once the first chunk has come: a client that takes its time with it keeps no connection from others, and none that its
 * upstream may take for idle.
 */
async function streamOnce(
  { arriving, beginning, chunks }: Streaming,
  length: number | undefined,
): Promise<Body> {
  const read = await waitForFirst(chunks);
  return {
    kind: 'stream',
    length,
    read: () => lettingGo(read()),
    release: async () => {
      beginning?.release();
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

/**
 * What came of a body before it proved too large to be buffered: what was collected, which counts as held until the next part is
 * asked for, and the chunk that was too much, which never counts.
 */
class Beginning {
  readonly #parts: Buffer[];
  readonly #memory: BodyMemory;
  #counted: number;

  constructor(collected: Buffer, last: Buffer, memory: BodyMemory) {
    this.#parts = [collected, last];
    this.#memory = memory;
    this.#counted = collected.length;
  }

  next(): Buffer | undefined {
    const part = this.#parts.shift();
    if (this.#parts.length === 0) this.release();
    return part;
  }

  release(): void {
    this.#memory.giveBack(this.#counted);
    this.#counted = 0;
    this.#parts.length = 0;
  }
}

/** Holds only the chunk being asked for; as parameters, all would stay in memory until the body had passed. */
async function* joined(
  beginning: Beginning,
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  for (let part = beginning.next(); part !== undefined; part = beginning.next()) yield part;
  yield* rest;
}
