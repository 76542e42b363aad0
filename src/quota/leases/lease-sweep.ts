import type { Clock } from '../../waiting/clock.ts';
import { manyLeases, type LeaseSteps } from './lease-steps.ts';
import type { Lease } from './lease.ts';
import type { StoreTime } from './store-time.ts';

interface LeaseSweepOptions {
  readonly clock: Clock;
  readonly time: StoreTime;
  readonly steps: LeaseSteps;
  readonly book: ReadonlyMap<string, Lease>;
}

const sweepMs = 250;
const sliceLeases = 5000;
const sliceGapMs = 5;
const idleMs = 1000;

/** Sends back what keys hold and do not need, and sees to the steps that the store has not taken. */
export class LeaseSweep {
  readonly #clock: Clock;
  readonly #time: StoreTime;
  readonly #steps: LeaseSteps;
  readonly #book: ReadonlyMap<string, Lease>;
  #unswept: Iterator<Lease>;
  /** True until the sweep that was called for has seen all leases: the steps that it takes itself call for no other. */
  #armed = false;

  constructor({ clock, time, steps, book }: LeaseSweepOptions) {
    this.#clock = clock;
    this.#time = time;
    this.#steps = steps;
    this.#book = book;
    this.#unswept = book.values();
  }

  /** Sees that a sweep comes soon. */
  arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#sweepIn(sweepMs);
  }

  #sweepIn(delayMs: number): void {
    this.#clock.after(delayMs, () => this.#sweep());
  }

  /** One timer for all keys. It stops when nothing is held, owed or waiting. */
  #sweep(): void {
    this.#time.forgiveDrift();
    if (!this.#sweepSlice()) {
      this.#sweepIn(sliceGapMs);
      return;
    }
    if (!this.#steps.outbox.down || this.#steps.outbox.size === 0) this.#steps.chargeOwed();
    this.#steps.outbox.retry();
    this.#armed = false;
    if (this.#book.size + this.#steps.outbox.size + this.#steps.owed.size > 0) this.arm();
  }

  /** Looks at some of the leases, so that a hundred thousand of them never hold up requests; true after the last. */
  #sweepSlice(): boolean {
    const mono = this.#time.tick();
    for (let seen = 0; seen < sliceLeases; seen += 1) {
      const next = this.#unswept.next();
      if (next.done === true) {
        this.#unswept = this.#book.values();
        return true;
      }
      if (!next.value.drawing) this.#sweepLease(next.value, mono);
    }
    return false;
  }

  #sweepLease(lease: Lease, mono: number): void {
    const restedMs = lease.restedMs(mono);
    const idle = restedMs >= idleMs;
    if (lease.units > 0 && this.#steps.outbox.hasRoom) {
      if (this.#steps.outbox.down && lease.isCurrent(this.#time, mono)) this.#askWith(lease);
      else if (!idle && !this.#isStranded(lease, restedMs)) this.#trim(lease, mono);
      else this.#steps.retire(lease);
    }
    if (lease.units === 0 && (idle || (restedMs >= sweepMs && this.#mayGoEarly(lease, mono))))
      this.#steps.close(lease);
  }

  /**
   * While the store is away, units stay with their key, the only one that can spend them. If no step waits, one that gives nothing
   * back is sent, or nobody would notice the store's return.
   */
  #askWith(lease: Lease): void {
    if (this.#steps.outbox.size === 0) this.#steps.sendBack(lease, lease.counters, 0);
  }

  /**
   * What a key that has slowed down does not need any more goes back: no process keeps a large lease from the others for a request
   * now and then.
   */
  #trim(lease: Lease, mono: number): void {
    const surplus = lease.trim(mono);
    if (surplus > 0) this.#steps.sendBack(lease, lease.counters, surplus);
  }

  /** With so many leases in the book, one that knows nothing goes before it has rested for a second. */
  #mayGoEarly(lease: Lease, mono: number): boolean {
    return this.#book.size > 2 * manyLeases && lease.isBare(mono);
  }

  /** Near the end of a quota units rest here only for a moment: another process may have use for them. */
  #isStranded(lease: Lease, restedMs: number): boolean {
    return restedMs >= sweepMs && lease.isNearEnd;
  }
}
