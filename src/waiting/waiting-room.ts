import { Line, type Spot } from '../collections/line.ts';
import type { Clock } from './clock.ts';

/**
 * Turns of the event loop granted after a deadline, so that an answer that reached a stalled process in time is still read. A caller
 * gets more than a call: another call may just have gone out for it, and a call that fails can say why.
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

interface WaitingRoomOptions<Guest> {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly extraTurns: number;
  /** Told of a guest whose time is over, and who has been taken out. */
  readonly onLate: (guest: Guest) => void;
}

/**
 * Those who wait for the store. All may wait equally long, so they run out of time in the order they came: one timer serves all.
 */
export class WaitingRoom<Guest> {
  readonly #options: WaitingRoomOptions<Guest>;
  readonly #stays = new Line<Stay<Guest>>();
  #watching = false;

  constructor(options: WaitingRoomOptions<Guest>) {
    this.#options = options;
  }

  /** Their time begins when the store is asked, at the end of this turn: a turn that is longer than the wait takes none of it. */
  enter(guest: Guest): RoomSpot<Guest> {
    const spot = this.#stays.join({ guest, deadline: Infinity });
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
    const { clock, extraTurns } = this.#options;
    this.#watching = true;
    clock.after(delayMs, () => {
      const seenAt = clock.mono();
      this.#inTurns(extraTurns, () => {
        this.#watching = false;
        this.#removeLate(seenAt);
      });
    });
  }

  #inTurns(turns: number, callback: () => void): void {
    if (turns === 0) callback();
    else this.#options.clock.after(0, () => this.#inTurns(turns - 1, callback));
  }

  #removeLate(seenAt: number): void {
    const { clock, onLate } = this.#options;
    for (let stay = this.#stays.first; stay !== undefined; stay = this.#stays.first) {
      const { guest, deadline } = stay;
      if (deadline === Infinity) return;
      if (deadline > seenAt) {
        this.#lookAfter(Math.ceil(Math.max(0, deadline - clock.mono())));
        return;
      }
      this.#stays.takeFirst();
      onLate(guest);
    }
  }
}
