import { Line, type Spot } from '../line.ts';
import type { Clock } from './clock.ts';

/** How long somebody may stay. */
export interface Stay<Guest> {
  readonly guest: Guest;
  /** Infinity until their time begins. */
  deadline: number;
}

/**
 * Those who wait for the store. One call has a deadline of its own; whoever came while it was under way needs another, and is
 * bounded here. All wait equally long at most, so they run out of time in the order they came, and one timer serves them all.
 */
export class WaitingRoom<Guest> {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #turnOut: (guest: Guest) => void;
  readonly #stays = new Line<Stay<Guest>>();
  #watching = false;

  /** Whoever is turned out has left already. */
  constructor(clock: Clock, waitMs: number, turnOut: (guest: Guest) => void) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#turnOut = turnOut;
  }

  /** Their time begins when the store is asked. A turn of the event loop that takes longer than the wait costs nobody theirs. */
  enter(guest: Guest): Spot<Stay<Guest>> {
    const spot = this.#stays.join({ guest, deadline: Number.POSITIVE_INFINITY });
    this.#clock.whenAllIsRead(() => this.#begin(spot));
    return spot;
  }

  #begin({ guest: stay }: Spot<Stay<Guest>>): void {
    if (stay === undefined) return;
    stay.deadline = this.#clock.mono() + this.#waitMs;
    if (!this.#watching) this.#lookAfter(this.#waitMs);
  }

  /**
   * Whoever is late then has two more turns of the event loop, and all that is read in them: in a process that is held up the
   * store was asked at the end of the last one. An answer that takes any time at all is not there yet when the next begins.
   */
  #lookAfter(delayMs: number): void {
    this.#watching = true;
    this.#clock.after(delayMs, () => {
      const seenAt = this.#clock.mono();
      this.#inTwoTurns(() => {
        this.#watching = false;
        this.#turnOutLate(seenAt);
      });
    });
  }

  #inTwoTurns(callback: () => void): void {
    this.#clock.after(0, () => this.#clock.after(0, callback));
  }

  #turnOutLate(seenAt: number): void {
    for (let stay = this.#stays.first; stay !== undefined; stay = this.#stays.first) {
      const { guest, deadline } = stay;
      if (deadline === Number.POSITIVE_INFINITY) return;
      if (deadline > seenAt) {
        this.#lookAfter(Math.max(0, deadline - this.#clock.mono()));
        return;
      }
      this.#stays.takeFirst();
      this.#turnOut(guest);
    }
  }
}
