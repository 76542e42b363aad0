import type { Clock } from './clock.ts';
import { Line, type Spot } from '../collections/line.ts';

/**
 * Whoever is late has so many more turns of the event loop, and all that is read in them: what came in time to a process that was
 * held up is taken. Those who wait for what comes of a call have more than the call, because in the turn in which their time ends
 * another may just have been sent for them; and why it failed they hear from the call, which knows.
 */
export const turnsFor = { call: 1, caller: 4 } as const;

/** How long somebody may stay. */
interface Stay<Guest> {
  readonly guest: Guest;
  /** Infinity until their time begins. */
  deadline: number;
}

/** A place in the room, which its guest leaves when there is nothing more to wait for. */
export type RoomSpot<Guest> = Spot<Stay<Guest>>;

export interface WaitingRoomOptions<Guest> {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly turnsMore: number;
  /** Told of somebody who is late, and has left. */
  readonly turnOut: (guest: Guest) => void;
}

/**
 * Those who wait for the store. All wait equally long at most, so they run out of time in the order they came, and one timer serves
 * them all.
 */
export class WaitingRoom<Guest> {
  readonly #options: WaitingRoomOptions<Guest>;
  readonly #stays = new Line<Stay<Guest>>();
  #watching = false;

  constructor(options: WaitingRoomOptions<Guest>) {
    this.#options = options;
  }

  /** Their time begins when the store is asked. A turn of the event loop that takes longer than the wait costs nobody theirs. */
  enter(guest: Guest): RoomSpot<Guest> {
    const spot = this.#stays.join({ guest, deadline: Number.POSITIVE_INFINITY });
    this.#options.clock.whenAllIsRead(() => this.#begin(spot));
    return spot;
  }

  #begin({ guest: stay }: RoomSpot<Guest>): void {
    if (stay === undefined) return;
    const { clock, waitMs } = this.#options;
    stay.deadline = clock.mono() + waitMs;
    if (!this.#watching) this.#lookAfter(waitMs);
  }

  #lookAfter(delayMs: number): void {
    const { clock, turnsMore } = this.#options;
    this.#watching = true;
    clock.after(delayMs, () => {
      const seenAt = clock.mono();
      this.#inTurns(turnsMore, () => {
        this.#watching = false;
        this.#turnOutLate(seenAt);
      });
    });
  }

  #inTurns(turns: number, callback: () => void): void {
    if (turns === 0) callback();
    else this.#options.clock.after(0, () => this.#inTurns(turns - 1, callback));
  }

  #turnOutLate(seenAt: number): void {
    const { clock, turnOut } = this.#options;
    for (let stay = this.#stays.first; stay !== undefined; stay = this.#stays.first) {
      const { guest, deadline } = stay;
      if (deadline === Number.POSITIVE_INFINITY) return;
      if (deadline > seenAt) {
        this.#lookAfter(Math.ceil(Math.max(0, deadline - clock.mono())));
        return;
      }
      this.#stays.takeFirst();
      turnOut(guest);
    }
  }
}
