import { randomBytes } from 'node:crypto';

/** Ids that only this process gives out: each is the same random text, followed by a number that goes up. */
export class FreshIds {
  /** Random, so that no id of an earlier process of the same name comes again. */
  readonly #prefix = randomBytes(12).toString('base64url');
  #given = 0;

  /** An id that is never given out, so whatever bears it belongs to nobody. */
  get unused(): string {
    return `${this.#prefix}.0`;
  }

  next(): string {
    this.#given += 1;
    return `${this.#prefix}.${this.#given}`;
  }
}
