import { Line } from '../line.ts';
import type { Clock } from './clock.ts';
import type { Denial, Hold, Lease, Waiter } from './lease.ts';
import { WaitingRoom } from './waiting-room.ts';

/** Requests that wait for draws, each in the line of its key. */
export class LeaseLines {
  readonly #room: WaitingRoom<Waiter>;

  constructor(clock: Clock, waitMs: number, onLate: (waiter: Waiter) => void) {
    this.#room = new WaitingRoom(clock, waitMs, (waiter) => {
      this.release(waiter);
      onLate(waiter);
    });
  }

  /** Puts a request at the end of its key's line. It leaves the line when it is answered, late, or aborted. */
  async wait(lease: Lease, cost: number, signal: AbortSignal | undefined): Promise<Hold | Denial> {
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        this.release(waiter);
        reject(signal?.reason);
      };
      const deafen = (): void => signal?.removeEventListener('abort', leave);
      const waiter: Waiter = { lease, cost, resolve, reject, deafen, inLine: undefined, inRoom: undefined };
      signal?.addEventListener('abort', leave, { once: true });
      lease.waiting ??= new Line();
      waiter.inLine = lease.waiting.join(waiter);
      waiter.inRoom = this.#room.enter(waiter);
    });
  }

  /** Takes a request out of its line; the caller answers it. */
  release(waiter: Waiter): void {
    const { lease } = waiter;
    waiter.deafen();
    waiter.inLine?.leave();
    waiter.inRoom?.leave();
    if (lease.waiting?.first === undefined) lease.waiting = undefined;
  }
}

/** Units that the requests in a line cost together. */
export function demandOf(line: Line<Waiter> | undefined): number {
  return line?.guests().reduce((units, { cost }) => units + cost, 0) ?? 0;
}
