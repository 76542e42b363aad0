import type { IncomingMessage } from 'node:http';
import type { Refusal } from '../refusals.ts';

const broken = new WeakMap<IncomingMessage, Refusal>();

/** Emitted on a request, with the refusal, when it turns out that the rest of its body cannot be read. */
export const bodyBroken = Symbol('body broken');

/** Tells the body's reader, now or later, that the rest of it makes no sense, or comes too late. */
export function breakBody(req: IncomingMessage, refusal: Refusal): void {
  broken.set(req, refusal);
  req.emit(bodyBroken, refusal);
}

/** Why the body cannot be read, when that is known before anybody reads it. */
export function brokenBy(req: IncomingMessage): Refusal | undefined {
  return broken.get(req);
}
