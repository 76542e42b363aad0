import type { IncomingMessage } from 'node:http';
import { printSize } from '../config/units.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { ArrivingBody } from './arriving-body.ts';
import { noBodyMemory, type BodyMemory } from './body-memory.ts';

interface Collecting {
  readonly rooms: {
    readonly memory: BodyMemory;
    /** How long all of it may take to come. */
    readonly requestMs: number;
  };
  /** Counts the bytes, even if they never make a whole body. */
  readonly visit: Pick<Visit, 'bytesIn'>;
}

/**
 * Takes a body that has come whole, as small ones do with their head, so that nothing has to listen for it. By now the parser has
 * given out all of its bytes, but not yet said that it is over.
 */
export function takeArrived(
  req: IncomingMessage,
  contentLength: number | undefined,
  memory: BodyMemory,
): Buffer | undefined {
  const size = req.readableLength;
  if (size === 0 || size !== contentLength || req.destroyed || req.readableFlowing !== null) {
    return undefined;
  }
  // Without a size, Node returns only the first piece, and others may have come while the request waited.
  return memory.take(size) ? (req.read(size) as Buffer) : undefined;
}

/**
 * All bytes of a body, if they come in time. They are counted as they arrive: a declared length is a claim, and a chunked body
 * declares none. 400 408 413 499 503.
 */
export async function collectBody(
  req: IncomingMessage,
  sizeMax: number,
  { rooms: { memory, requestMs: timeoutMs }, visit }: Collecting,
): Promise<Buffer> {
  const arriving = new ArrivingBody(req, {
    timeoutMs,
    bytesPerSecondMin: 0,
    tooSlow: 'request_timeout',
    visit,
  });
  const collected = new CollectedBytes(sizeMax);
  try {
    for (let next = await arriving.next(); next.done !== true; next = await arriving.next()) {
      const chunk = next.value;
      if (collected.length + chunk.length > sizeMax) throw tooLarge(sizeMax);
      if (!memory.take(chunk.length)) throw noBodyMemory();
      collected.takeOver(chunk);
    }
  } catch (error) {
    // Before anything is waited for: others whose bodies come in this turn need the room.
    memory.giveBack(collected.length);
    arriving.stop();
    throw error;
  }
  return collected.take();
}

/** More bytes than the body's rule allows. */
export function tooLarge(sizeMax: number): Refusal {
  return new Refusal('body_too_large', {
    message: `The request body must be at most ${printSize(sizeMax)}`,
  });
}
