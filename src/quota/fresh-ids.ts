import { randomBytes } from 'node:crypto';

/** Ids that only this process gives: each has the same random text in front, and a number behind it that goes up. */
export class FreshIds {
  /** Random, so that no id of an earlier process of the same name comes again. */
  readonly #prefix = randomBytes(12).toString('base64url');
  #given = 0;

  /** An id that is never given, so what bears it is nobody's. */
  get nobodys(): string {
    return `${this.#prefix}.0`;
  }

  next(): string {
    this.#given += 1;
    return `${this.#prefix}.${this.#given}`;
  }
}
