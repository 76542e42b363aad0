import type { Clock } from './clock.ts';
import type { Denial, Hold, Lease, Waiter } from './lease.ts';

/**
 * Requests that wait for draws, each in the line of its key. All of them wait equally long at most, so they run out of
 * time in the order they came, and one timer serves them all.
 */
export class WaitingRoom {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #onLate: (waiter: Waiter) => void;
  readonly #everyone = new Set<Waiter>();
  #armed = false;

  constructor(clock: Clock, waitMs: number, onLate: (waiter: Waiter) => void) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#onLate = onLate;
  }

  /** Puts a request at the end of its key's line. It leaves the line when it is answered, late, or aborted. */
  async wait(lease: Lease, cost: number, signal: AbortSignal | undefined): Promise<Hold | Denial> {
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        this.release(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        lease,
        cost,
        deadline: Number.POSITIVE_INFINITY,
        resolve,
        reject,
        deafen: () => signal?.removeEventListener('abort', leave),
      };
      signal?.addEventListener('abort', leave, { once: true });
      lease.waiting ??= new Set();
      lease.waiting.add(waiter);
      this.#everyone.add(waiter);
      this.#clock.whenAllIsRead(() => this.#begin(waiter));
    });
  }

  /** Its time begins when the store is asked. A turn of the event loop that takes longer than the wait costs nobody theirs. */
  #begin(waiter: Waiter): void {
    waiter.deadline = this.#clock.mono() + this.#waitMs;
    if (!this.#armed && this.#everyone.has(waiter)) this.#arm(this.#waitMs);
  }

  /** Takes a request out of its line; the caller answers it. */
  release(waiter: Waiter): void {
    waiter.deafen();
    this.#everyone.delete(waiter);
    const { lease } = waiter;
    lease.waiting?.delete(waiter);
    if (lease.waiting?.size === 0) lease.waiting = undefined;
  }

  #arm(delayMs: number): void {
    this.#armed = true;
    this.#clock.after(delayMs, () => {
      this.#armed = false;
      this.#turnOutLate();
    });
  }

  #turnOutLate(): void {
    const now = this.#clock.mono();
    for (const waiter of this.#everyone) {
      if (waiter.deadline === Number.POSITIVE_INFINITY) return;
      if (waiter.deadline > now) {
        this.#arm(waiter.deadline - now);
        return;
      }
      this.release(waiter);
      this.#onLate(waiter);
    }
  }
}

/** Units that the requests in a line cost together. */
export function demandOf(line: Iterable<Waiter> | undefined): number {
  let units = 0;
  if (line !== undefined) for (const { cost } of line) units += cost;
  return units;
}
