import { isOutage, StoreUnavailable, Unreadable } from '../../stores/ledger.ts';
import type { DrawAnswer, DrawOrder, Ledger } from '../../stores/ledger.ts';
import type { Clock } from '../../waiting/clock.ts';
import { LeaseLines, demandOf } from './lease-lines.ts';
import { sizeLease } from './lease-size.ts';
import type { LeaseSteps } from './lease-steps.ts';
import {
  type Denial,
  type Lease,
  type ReserveOrder,
  type Waiter,
  Hold,
  deny,
  enterPeriods,
  isCurrent,
  isOf,
  remainingInStore,
  resize,
} from './lease.ts';
import type { StoreTime } from './store-time.ts';

export interface LeaseDrawsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly holder: string;
  readonly deadlineMs: number;
  readonly onError: (error: unknown) => void;
  readonly time: StoreTime;
  readonly steps: LeaseSteps;
}

/** A denial is good for so long without asking again. */
const denialMs = 50;
const drawsInVainMax = 8;

/**
 * Draws units for the keys that need some, one draw of a lease at a time, and hands them to its requests: first come, first
 * served.
 */
export class LeaseDraws {
  readonly #ledger: Ledger;
  readonly #holder: string;
  readonly #onError: (error: unknown) => void;
  readonly #time: StoreTime;
  readonly #steps: LeaseSteps;
  readonly #lines: LeaseLines;
  /** Leases that are drawn for. */
  #running = 0;
  #ending = false;
  #quiet: PromiseWithResolvers<void> | undefined;

  constructor(options: LeaseDrawsOptions) {
    this.#ledger = options.ledger;
    this.#holder = options.holder;
    this.#onError = options.onError;
    this.#time = options.time;
    this.#steps = options.steps;
    this.#lines = new LeaseLines(options.clock, options.deadlineMs, (waiter) => {
      this.#failWaiter(waiter, new StoreUnavailable('No units came in time', { mayHaveHappened: false }));
    });
  }

  /** True when nothing is drawn ahead any more. */
  get ending(): boolean {
    return this.#ending;
  }

  /** Resolves when no draw is under way. */
  async end(): Promise<void> {
    this.#ending = true;
    if (this.#running === 0) return;
    this.#quiet ??= Promise.withResolvers();
    await this.#quiet.promise;
  }

  /** Spends units that are held. */
  take(lease: Lease, cost: number, mono: number): Hold {
    lease.units -= cost;
    lease.spent += cost;
    lease.touchedAt = mono;
    if (lease.units < lease.refillBelow && !lease.drawing) this.#startDrawing(lease);
    return new Hold(lease, cost, false);
  }

  /** Puts a request into the line of its key, and draws for it. */
  wait(lease: Lease, order: ReserveOrder): Promise<Hold | Denial> {
    const answer = this.#lines.wait(lease, order);
    if (!lease.drawing) this.#startDrawing(lease);
    return answer;
  }

  /** Hands units to the requests in line, first come, first served. */
  serve(lease: Lease, mono: number): void {
    if (!isCurrent(lease, this.#time, mono)) return;
    for (let next = lease.waiting?.first; next !== undefined; next = lease.waiting?.first) {
      if (next.cost > lease.units) return;
      this.#lines.release(next);
      next.resolve(this.take(lease, next.cost, mono));
    }
  }

  /** Makes the lease one of the current periods. Units of others go back to theirs. */
  refresh(lease: Lease, mono: number): void {
    if (isCurrent(lease, this.#time, mono)) return;
    this.#steps.retire(lease);
    enterPeriods(lease, this.#time.latest(mono), this.#time.trust);
  }

  #startDrawing(lease: Lease): void {
    lease.drawing = true;
    this.#running += 1;
    void this.#drawForLine(lease);
  }

  #becomeQuiet(): void {
    this.#quiet?.resolve();
    this.#quiet = undefined;
  }

  /** Nothing may come between the last look at the line and the word that nobody draws for it any more. */
  async #drawForLine(lease: Lease): Promise<void> {
    try {
      for (let inVain = 0; inVain < drawsInVainMax;) {
        inVain = (await this.#drawOnce(lease)) ? 0 : inVain + 1;
        if (lease.waiting === undefined) return;
      }
      this.#failLine(lease, new StoreUnavailable('The periods never settled', { mayHaveHappened: false }));
    } catch (error) {
      this.#onError(error);
      this.#failLine(lease, error);
    } finally {
      lease.drawing = false;
      if (lease.gone) this.#steps.retire(lease);
      this.#running -= 1;
      if (this.#running === 0) this.#becomeQuiet();
    }
  }

  /** True when the line got its answer or part of it; false when the store and the process disagree on the time. */
  async #drawOnce(lease: Lease): Promise<boolean> {
    const askedAt = this.#time.tick();
    this.refresh(lease, askedAt);
    this.serve(lease, askedAt);
    if (lease.waiting === undefined && lease.units >= lease.refillBelow) return true;
    const order = this.#composeDraw(lease, askedAt);
    let answer: DrawAnswer;
    try {
      answer = await this.#ledger.draw(order);
    } catch (error) {
      this.#drawFailed(lease, order, error);
      return true;
    }
    this.#time.learn(answer.now, askedAt);
    this.#steps.outbox.storeAnswered();
    if (answer.kind === 'not_current') {
      if (lease.counting.counters === order.counters) lease.counting = { ...lease.counting, until: 0 };
      return false;
    }
    if (!isOf(lease, order.counters, this.#time, this.#time.tick())) {
      if (answer.kind === 'drawn') this.#steps.sendBack(lease, order.counters, answer.units);
      return false;
    }
    if (answer.kind === 'drawn') {
      lease.told = Math.max(0, order.held + answer.units);
      this.#drawn(lease, answer.units, answer.used);
    } else {
      this.#exhausted(lease, order, answer);
    }
    return true;
  }

  #composeDraw(lease: Lease, mono: number): DrawOrder {
    const line = demandOf(lease.waiting);
    const ahead = this.#sizeAhead(lease, line, mono);
    const head = lease.waiting?.first;
    const need = head === undefined ? 1 : head.cost - lease.units;
    lease.size = ahead;
    lease.spent = 0;
    lease.drawnAt = mono;
    return {
      id: this.#steps.nextId(),
      keyId: lease.keyId,
      counters: lease.counting.counters,
      need,
      want: Math.max(need, line + ahead - lease.units),
      holder: this.#holder,
      held: lease.units - line,
    };
  }

  #sizeAhead(lease: Lease, line: number, mono: number): number {
    if (this.#ending || lease.gone || lease.plan.consistency === 'strict' || lease.used === undefined)
      return 0;
    return sizeLease({
      spent: lease.spent,
      elapsedMs: mono - lease.drawnAt,
      last: lease.size,
      remaining: remainingInStore(lease) - line,
    });
  }

  #drawn(lease: Lease, units: number, used: readonly number[]): void {
    lease.units += units;
    lease.used = used;
    lease.deniedUntil = 0;
    resize(lease, lease.size);
    const mono = this.#time.tick();
    this.serve(lease, mono);
    // Requests that left while the draw was under way leave a surplus behind.
    const surplus = lease.waiting === undefined ? lease.units - lease.size : 0;
    if (surplus > 0) {
      lease.units -= surplus;
      this.#steps.sendBack(lease, lease.counting.counters, surplus);
    }
  }

  #exhausted(lease: Lease, order: DrawOrder, answer: Extract<DrawAnswer, { kind: 'exhausted' }>): void {
    lease.used = answer.used;
    lease.size = 0;
    lease.refillBelow = -1;
    lease.deniedUntil = this.#time.tick() + denialMs;
    lease.deniedNeed = order.need;
    const most = lease.units + Math.min(remainingInStore(lease), order.need - 1);
    for (const waiter of lease.waiting?.guests() ?? []) {
      if (waiter.cost <= most) continue;
      this.#lines.release(waiter);
      waiter.resolve(deny(lease, waiter.cost));
    }
    if (lease.waiting !== undefined) return;
    // With what too little is held of here, another process may have enough, or a less dear request after this one.
    lease.deniedNeed += lease.units;
    this.#steps.retire(lease);
  }

  #drawFailed(lease: Lease, order: DrawOrder, error: unknown): void {
    lease.refillBelow = -1;
    if (!(error instanceof StoreUnavailable)) throw error;
    if (!(error instanceof Unreadable)) this.#steps.outbox.storeFailed();
    if (error.mayHaveHappened) this.#steps.cancel(order);
    this.#failLine(lease, error);
  }

  #failLine(lease: Lease, error: unknown): void {
    for (const waiter of lease.waiting?.guests() ?? []) {
      this.#lines.release(waiter);
      this.#failWaiter(waiter, error);
    }
  }

  #failWaiter(waiter: Waiter, error: unknown): void {
    const { lease, cost } = waiter;
    // What is spoilt stays so until somebody mends it, and what is owed to it could not be charged.
    const mayOwe = isOutage(error) && lease.plan.onStoreFailure === 'allow';
    if (mayOwe && this.#steps.owed.open(lease.keyId)) waiter.resolve(new Hold(lease, cost, true));
    else waiter.reject(error);
  }
}
