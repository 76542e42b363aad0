/** A guest's place in a line. */
export class Spot<Guest extends object> {
  /** Nobody, once they have left. */
  guest: Guest | undefined;
  before: Spot<Guest> = this;
  after: Spot<Guest> = this;

  constructor(guest: Guest | undefined) {
    this.guest = guest;
  }

  get isTaken(): boolean {
    return this.guest !== undefined;
  }

  /** False if they had already left. */
  leave(): boolean {
    if (this.guest === undefined) return false;
    this.guest = undefined;
    this.before.after = this.after;
    this.after.before = this.before;
    this.before = this;
    this.after = this;
    return true;
  }
}

/**
 * Waiting guests, in the order they came. Nothing here leads to those who left: a `Set` or `Map` that has lived for a while would
 * keep them, with everything that belongs to their requests, until the whole heap is collected (record 32).
 */
export class Line<Guest extends object> {
  /** Before the first and after the last. */
  readonly #ends = new Spot<Guest>(undefined);

  get first(): Guest | undefined {
    return this.#ends.after.guest;
  }

  join(guest: Guest): Spot<Guest> {
    const spot = new Spot(guest);
    spot.before = this.#ends.before;
    spot.after = this.#ends;
    spot.before.after = spot;
    this.#ends.before = spot;
    return spot;
  }

  /** Takes the first out of the line. */
  takeFirst(): Guest | undefined {
    const { first } = this;
    this.#ends.after.leave();
    return first;
  }

  /** Those in it now, copied: guests may leave while it is read. */
  guests(): Guest[] {
    const guests: Guest[] = [];
    for (let spot = this.#ends.after; spot.guest !== undefined; spot = spot.after) guests.push(spot.guest);
    return guests;
  }
}
