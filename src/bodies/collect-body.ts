import type { IncomingMessage } from 'node:http';
import { printSize } from '../config/units.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { bodyBroken, breakBody, brokenBy } from '../wire/broken-body.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
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
export function collectBody(
  req: IncomingMessage,
  sizeMax: number,
  { rooms: { memory, requestMs }, visit }: Collecting,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reason = req.destroyed ? new Refusal('client_gone') : brokenBy(req);
    if (reason !== undefined) {
      reject(reason);
      return;
    }
    const stopWaiting = afterReading(requestMs, () => breakBody(req, new Refusal('request_timeout')));
    const collected = new CollectedBytes(sizeMax);

    function take(chunk: Buffer): void {
      const { length } = chunk;
      if (collected.length + length > sizeMax) return fail(tooLarge(sizeMax));
      if (!memory.take(length)) return fail(noBodyMemory());
      collected.takeOver(chunk);
      visit.bytesIn += length;
    }
    function finish(): void {
      stopListening();
      resolve(collected.take());
    }
    function fail(error: Refusal): void {
      stopListening();
      memory.giveBack(collected.length);
      reject(error);
    }
    function leave(): void {
      fail(new Refusal('client_gone'));
    }
    function stopListening(): void {
      stopWaiting();
      req.off('data', take).off('end', finish).off('close', leave).off(bodyBroken, fail);
    }

    // Node emits an error of a request only where somebody listens for one, and then as well that it has closed.
    req.on('data', take).on('end', finish).on('close', leave).on(bodyBroken, fail);
  });
}

/** More bytes than the body's rule allows. */
export function tooLarge(sizeMax: number): Refusal {
  return new Refusal('body_too_large', {
    message: `The request body must be at most ${printSize(sizeMax)}`,
  });
}
