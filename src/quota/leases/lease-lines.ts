import { Line } from '../../collections/line.ts';
import type { Clock } from '../../waiting/clock.ts';
import { turnsFor, WaitingRoom } from '../../waiting/waiting-room.ts';
import type { ReserveOrder } from '../reserve-order.ts';
import type { Denial, Reservation, Lease, Waiter } from './lease.ts';

/** Requests that wait for draws, each in the line of its key. */
export class LeaseLines {
  readonly #room: WaitingRoom<Waiter>;

  constructor(clock: Clock, waitMs: number, onLate: (waiter: Waiter) => void) {
    this.#room = new WaitingRoom({
      clock,
      waitMs,
      extraTurns: turnsFor.caller,
      onLate: (waiter) => {
        this.release(waiter);
        onLate(waiter);
      },
    });
  }

  /** Puts a request at the end of its key's line. It leaves the line when it is answered, late, or its client leaves. */
  wait(lease: Lease, order: ReserveOrder): Promise<Reservation | Denial> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        lease,
        cost: order.cost,
        resolve,
        reject,
        stopListening: undefined,
        inLine: undefined,
        inRoom: undefined,
      };
      lease.waiting ??= new Line();
      waiter.inLine = lease.waiting.join(waiter);
      waiter.inRoom = this.#room.enter(waiter);
      waiter.stopListening = order.whenLeft?.((reason) => {
        this.release(waiter);
        reject(reason);
      });
    });
  }

  /** Takes a request out of its line; the caller answers it. */
  release(waiter: Waiter): void {
    const { lease } = waiter;
    waiter.stopListening?.();
    waiter.inLine?.leave();
    waiter.inRoom?.leave();
    if (lease.waiting?.first === undefined) lease.waiting = undefined;
  }
}
