import { overloaded, type Refusal } from '../refusals.ts';
import type { BytesBody } from './body.ts';

/** Bytes of request bodies that the process may still take into memory. */
export class BodyMemory {
  readonly max: number;
  #free: number;

  constructor(bytes: number) {
    this.max = bytes;
    this.#free = bytes;
  }

  get taken(): number {
    return this.max - this.#free;
  }

  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** The refusal of a request whose body finds no memory. */
export function noBodyMemory(): Refusal {
  return overloaded({ detail: 'limits.bodyMemory is used up' });
}

/** A body whose bytes are in memory already. */
export function inMemory(bytes: Buffer, memory: BodyMemory): BytesBody {
  let held = bytes.length;
  return {
    kind: 'bytes',
    bytes,
    length: held,
    release: () => {
      memory.giveBack(held);
      held = 0;
    },
  };
}
