import { StoreUnavailable } from '../stores/ledger.ts';
import type { Counter, DrawAnswer, DrawOrder, Ledger } from '../stores/ledger.ts';
import type { Clock } from './clock.ts';
import { isNearEnd, sizeLease } from './lease-size.ts';
import {
  Hold,
  createLease,
  deny,
  enterPeriods,
  forgetHalf,
  raiseUsed,
  remainingInStore,
  resize,
} from './lease.ts';
import type { Denial, Lease, Waiter } from './lease.ts';
import { LeaseLines, demandOf } from './lease-lines.ts';
import { LeaseSteps } from './lease-steps.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import { StoreTime } from './store-time.ts';
import { readUsage, withoutHeld } from './usage-reading.ts';
import type { UsageReading } from './usage-reading.ts';

export interface LeasesOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The name under which this process draws. Processes that run at one time have different ones. */
  readonly holder: string;
  /** The store's deadline: no request waits longer for it, over however many draws. */
  readonly deadlineMs: number;
  /** Told of errors that are no outage: a fault in the program. */
  readonly onError: (error: unknown) => void;
  /** How many steps wait for the store's return, and how many keys may owe units meanwhile. */
  readonly stepsMax?: number;
  readonly owingKeysMax?: number;
}

/** The units of all keys that this process holds. */
export interface Leases {
  readonly time: StoreTime;
  /**
   * Reserves units of all of the plan's quotas: at once when enough are held, otherwise after the one draw of the key
   * that is in flight. Rejects with `StoreUnavailable` when the store cannot be asked and the plan says `refuse`, or
   * with the signal's reason when it is aborted first. A hold that was answered is the caller's to settle.
   */
  reserve(order: ReserveOrder): Hold | Denial | Promise<Hold | Denial>;
  /**
   * Ends a hold, once. What it did not spend goes back; what it spent above its units is charged, whatever the limit
   * says.
   */
  settle(hold: Hold, spent: number): void;
  /**
   * What the key has spent, read from the store and less what is held here. Units that other processes hold count as
   * spent. Rejects with `StoreUnavailable`.
   */
  read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]>;
  /** Gives back all that is held, and resolves when the store has taken it or does not answer. */
  drain(): Promise<void>;
  readonly counts: LeaseCounts;
}

/** Sizes of what is kept in memory, for metrics. */
export interface LeaseCounts {
  readonly leases: number;
  readonly owingKeys: number;
  readonly waitingSteps: number;
  readonly droppedSteps: number;
}

export interface ReserveOrder {
  readonly keyId: string;
  readonly plan: PlanRule;
  readonly cost: number;
  readonly signal?: AbortSignal | undefined;
}

/** Creates the leases of a process. */
export function createLeases(options: LeasesOptions): Leases {
  return new LeaseBook(options);
}

const sweepMs = 250;
const sliceLeases = 5000;
const sliceGapMs = 5;
const idleMs = 1000;
const denialMs = 50;
const drawsInVainMax = 8;

class LeaseBook implements Leases {
  readonly time: StoreTime;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #holder: string;
  readonly #onError: (error: unknown) => void;
  readonly #book = new Map<string, Lease>();
  #unswept = this.#book.values();
  readonly #draws = new Set<Promise<void>>();
  readonly #lines: LeaseLines;
  readonly #steps: LeaseSteps;
  #sweeping = false;
  #draining = false;

  constructor(options: LeasesOptions) {
    const { clock, onError } = options;
    this.time = new StoreTime(clock);
    this.#ledger = options.ledger;
    this.#clock = clock;
    this.#holder = options.holder;
    this.#onError = onError;
    this.#lines = new LeaseLines(clock, options.deadlineMs, (waiter) => {
      this.#failWaiter(waiter, new StoreUnavailable('No units came in time', { mayHaveHappened: false }));
    });
    this.#steps = new LeaseSteps({
      ledger: options.ledger,
      clock,
      holder: options.holder,
      onError,
      stepsMax: options.stepsMax ?? 10_000,
      owingKeysMax: options.owingKeysMax ?? 10_000,
      onStep: () => this.#armSweep(),
    });
  }

  get counts(): LeaseCounts {
    return {
      leases: this.#book.size,
      owingKeys: this.#steps.owed.size,
      waitingSteps: this.#steps.outbox.size,
      droppedSteps: this.#steps.outbox.dropped,
    };
  }

  reserve(order: ReserveOrder): Hold | Denial | Promise<Hold | Denial> {
    const mono = this.time.tick();
    const lease = this.#book.get(order.keyId);
    if (
      lease !== undefined &&
      lease.units >= order.cost &&
      lease.waiting === undefined &&
      lease.plan === order.plan &&
      this.#isCurrent(lease, mono)
    ) {
      return this.#take(lease, order.cost, mono);
    }
    return this.#reserveSlowly(order, lease ?? this.#open(order, mono), mono);
  }

  settle(hold: Hold, spent: number): void {
    if (hold.owed) this.#steps.owed.close(hold.lease.keyId, hold.counters, spent);
    else if (spent < hold.units) this.#takeBack(hold, hold.units - spent);
    else if (spent > hold.units) this.#charge(hold, spent - hold.units);
  }

  async read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]> {
    const at = this.time.latest(this.time.tick());
    const readings = await readUsage(this.#ledger, { keyId, plan, at });
    const lease = this.#book.get(keyId);
    const held = lease?.plan === plan && lease.from <= at && at < lease.until ? lease.units : 0;
    return readings.map((reading) => withoutHeld(reading, held));
  }

  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.#draws);
    for (const lease of this.#book.values()) {
      this.#retire(lease);
      lease.gone = true;
    }
    this.#book.clear();
    this.#steps.chargeOwed((keyId) => this.#book.get(keyId));
    await this.#steps.outbox.flush();
    this.#steps.chargeOwed((keyId) => this.#book.get(keyId));
    await this.#steps.outbox.flush();
  }

  #isCurrent(lease: Lease, mono: number): boolean {
    const at = this.time.latest(mono);
    return lease.from <= at && at < lease.until && lease.trust === this.time.trust;
  }

  #takeBack({ lease, counters }: Hold, units: number): void {
    const mono = this.time.tick();
    if (!this.#isLive(lease, counters, mono)) {
      this.#steps.sendBack(lease, counters, units);
      return;
    }
    if (lease.waiting !== undefined || this.#mayKeep(lease, units, mono)) {
      lease.units += units;
      this.#serve(lease, mono);
    } else {
      this.#steps.sendBack(lease, counters, units);
    }
    lease.deniedUntil = 0;
  }

  /** What is held pays first. A key that owes more than that holds nothing then, so that its next request asks the store. */
  #charge({ lease, counters }: Hold, units: number): void {
    const isLive = this.#isLive(lease, counters, this.time.tick());
    const paid = isLive ? Math.min(lease.units, units) : 0;
    lease.units -= paid;
    if (paid === units) return;
    if (isLive) raiseUsed(lease, units - paid);
    this.#steps.charge(lease, counters, units - paid);
  }

  /** Whether a lease still spends units of the periods in which these counters were read. */
  #isLive(lease: Lease, counters: readonly Counter[], mono: number): boolean {
    return !lease.gone && lease.counters === counters && this.#isCurrent(lease, mono);
  }

  #take(lease: Lease, cost: number, mono: number): Hold {
    lease.units -= cost;
    lease.spent += cost;
    lease.touchedAt = mono;
    if (lease.units < lease.refillBelow && !lease.drawing) this.#startDrawing(lease);
    return new Hold(lease, cost, false);
  }

  #open(order: ReserveOrder, mono: number): Lease {
    const lease = createLease(order.keyId, order.plan, mono);
    this.#book.set(order.keyId, lease);
    this.#armSweep();
    return lease;
  }

  #reserveSlowly(order: ReserveOrder, lease: Lease, mono: number): Hold | Denial | Promise<Hold | Denial> {
    if (lease.plan !== order.plan) {
      this.#retire(lease);
      lease.plan = order.plan;
      lease.until = 0;
    }
    this.#refresh(lease, mono);
    lease.touchedAt = mono;
    if (lease.waiting === undefined) {
      if (lease.units >= order.cost) return this.#take(lease, order.cost, mono);
      if (mono < lease.deniedUntil && order.cost - lease.units >= lease.deniedNeed)
        return deny(lease, order.cost);
    }
    const answer = this.#lines.wait(lease, order.cost, order.signal);
    if (!lease.drawing) this.#startDrawing(lease);
    return answer;
  }

  /** Makes the lease one of the current periods. Units of others go back to theirs. */
  #refresh(lease: Lease, mono: number): void {
    if (this.#isCurrent(lease, mono)) return;
    this.#retire(lease);
    enterPeriods(lease, this.time.latest(mono), this.time.trust);
  }

  #retire(lease: Lease): void {
    const { units } = lease;
    lease.units = 0;
    if (units > 0) this.#steps.sendBack(lease, lease.counters, units);
  }

  /** Whether units that come back may stay here: never near the end, unless a request was just turned away here. */
  #mayKeep(lease: Lease, units: number, mono: number): boolean {
    if (this.#draining || lease.plan.consistency === 'strict') return false;
    if (mono < lease.deniedUntil) return true;
    return lease.units + units <= lease.size && !isNearEnd(remainingInStore(lease));
  }

  // --- Drawing ---

  #startDrawing(lease: Lease): void {
    lease.drawing = true;
    const drawing = this.#drawForLine(lease)
      .catch((error: unknown) => {
        this.#onError(error);
        this.#failLine(lease, error);
      })
      .finally(() => {
        this.#draws.delete(drawing);
      });
    this.#draws.add(drawing);
  }

  async #drawForLine(lease: Lease): Promise<void> {
    try {
      for (let inVain = 0; inVain < drawsInVainMax;) {
        inVain = (await this.#drawOnce(lease)) ? 0 : inVain + 1;
        if (lease.waiting === undefined) return;
      }
      this.#failLine(lease, new StoreUnavailable('The periods never settled', { mayHaveHappened: false }));
    } finally {
      lease.drawing = false;
    }
  }

  /** True when the line got its answer or part of it; false when the store and the process disagree on the time. */
  async #drawOnce(lease: Lease): Promise<boolean> {
    const askedAt = this.time.tick();
    this.#refresh(lease, askedAt);
    this.#serve(lease, askedAt);
    if (lease.waiting === undefined && lease.units >= lease.refillBelow) return true;
    const order = this.#composeDraw(lease, askedAt);
    let answer: DrawAnswer;
    try {
      answer = await this.#ledger.draw(order);
    } catch (error) {
      this.#drawFailed(lease, order, error);
      return true;
    }
    this.time.learn(answer.now, askedAt);
    this.#steps.outbox.storeAnswered();
    if (answer.kind === 'not_current') {
      if (lease.counters === order.counters) lease.until = 0;
      return false;
    }
    if (!this.#isLive(lease, order.counters, this.time.tick())) {
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
    const [head] = lease.waiting ?? [];
    const need = head === undefined ? 1 : head.cost - lease.units;
    lease.size = ahead;
    lease.spent = 0;
    lease.drawnAt = mono;
    return {
      id: this.#steps.nextId(),
      keyId: lease.keyId,
      counters: lease.counters,
      need,
      want: Math.max(need, line + ahead - lease.units),
      holder: this.#holder,
      held: lease.units - line,
    };
  }

  #sizeAhead(lease: Lease, line: number, mono: number): number {
    if (this.#draining || lease.plan.consistency === 'strict' || lease.used === undefined) return 0;
    return sizeLease({
      spent: lease.spent,
      elapsedMs: mono - lease.drawnAt,
      last: lease.size,
      remaining: remainingInStore(lease) - line,
    });
  }

  #drawn(lease: Lease, units: number, used: readonly number[]): void {
    lease.units += units;
    lease.used = [...used];
    lease.deniedUntil = 0;
    resize(lease, lease.size);
    const mono = this.time.tick();
    this.#serve(lease, mono);
    // Requests that left while the draw was under way leave a surplus behind.
    const surplus = lease.waiting === undefined ? lease.units - lease.size : 0;
    if (surplus > 0) {
      lease.units -= surplus;
      this.#steps.sendBack(lease, lease.counters, surplus);
    }
  }

  #exhausted(lease: Lease, order: DrawOrder, answer: Extract<DrawAnswer, { kind: 'exhausted' }>): void {
    lease.used = [...answer.used];
    lease.size = 0;
    lease.refillBelow = -1;
    lease.deniedUntil = this.time.tick() + denialMs;
    lease.deniedNeed = order.need;
    const most = lease.units + Math.min(remainingInStore(lease), order.need - 1);
    for (const waiter of lease.waiting ?? []) {
      if (waiter.cost <= most) continue;
      this.#lines.release(waiter);
      waiter.resolve(deny(lease, waiter.cost));
    }
  }

  /** Hands units to the requests in line, first come, first served. */
  #serve(lease: Lease, mono: number): void {
    if (!this.#isCurrent(lease, mono)) return;
    for (const waiter of lease.waiting ?? []) {
      if (waiter.cost > lease.units) return;
      this.#lines.release(waiter);
      waiter.resolve(this.#take(lease, waiter.cost, mono));
    }
  }

  // --- Outages ---

  #drawFailed(lease: Lease, order: DrawOrder, error: unknown): void {
    lease.refillBelow = -1;
    if (!(error instanceof StoreUnavailable)) throw error;
    this.#steps.outbox.storeFailed();
    if (error.mayHaveHappened) this.#steps.cancel(order);
    this.#failLine(lease, error);
  }

  #failLine(lease: Lease, error: unknown): void {
    for (const waiter of lease.waiting ?? []) {
      this.#lines.release(waiter);
      this.#failWaiter(waiter, error);
    }
  }

  #failWaiter(waiter: Waiter, error: unknown): void {
    const { lease, cost } = waiter;
    const mayOwe = error instanceof StoreUnavailable && lease.plan.onStoreFailure === 'allow';
    if (mayOwe && this.#steps.owed.open(lease.keyId)) waiter.resolve(new Hold(lease, cost, true));
    else waiter.reject(error);
    this.#armSweep();
  }

  // --- Sweeping ---

  #armSweep(): void {
    if (!this.#sweeping) this.#sweepIn(sweepMs);
  }

  #sweepIn(delayMs: number): void {
    this.#sweeping = true;
    this.#clock.after(delayMs, () => {
      this.#sweeping = false;
      this.#sweep();
    });
  }

  /** One timer for all keys. It stops when nothing is held, owed or waiting. */
  #sweep(): void {
    this.time.forgiveDrift();
    if (!this.#sweepSlice()) {
      this.#sweepIn(sliceGapMs);
      return;
    }
    if (this.#steps.owed.size > 0 && (!this.#steps.outbox.down || this.#steps.outbox.size === 0))
      this.#steps.chargeOwed((keyId) => this.#book.get(keyId));
    this.#steps.outbox.retry();
    if (this.#book.size + this.#steps.outbox.size + this.#steps.owed.size > 0) this.#armSweep();
  }

  /** Looks at some of the leases, so that a hundred thousand of them never hold up requests; true after the last. */
  #sweepSlice(): boolean {
    const mono = this.time.tick();
    for (let seen = 0; seen < sliceLeases; seen += 1) {
      const next = this.#unswept.next();
      if (next.done === true) {
        this.#unswept = this.#book.values();
        return true;
      }
      if (!next.value.drawing && next.value.waiting === undefined) this.#sweepLease(next.value, mono);
    }
    return false;
  }

  #sweepLease(lease: Lease, mono: number): void {
    const restedMs = mono - lease.touchedAt;
    const idle = restedMs >= idleMs;
    const wanted = !idle && this.#isCurrent(lease, mono) && !this.#isStranded(lease, restedMs);
    if (lease.units > 0 && this.#steps.outbox.hasRoom) {
      if (wanted) this.#slim(lease, mono);
      else this.#retire(lease);
    }
    if (lease.units === 0 && idle) {
      // What was held has been spent, which nobody has told the store yet.
      if (lease.told > 0) this.#steps.sendBack(lease, lease.counters, 0);
      lease.gone = true;
      this.#book.delete(lease.keyId);
    }
  }

  /**
   * What a key that has slowed down does not need any more goes back: no process keeps a large lease from the others for a
   * request now and then.
   */
  #slim(lease: Lease, mono: number): void {
    const elapsedMs = mono - lease.drawnAt;
    if (elapsedMs < idleMs) return;
    const { spent, units } = lease;
    const needed = sizeLease({ spent, elapsedMs, last: lease.size, remaining: remainingInStore(lease) });
    forgetHalf(lease, elapsedMs);
    if (units < 2 * needed) return;
    lease.units = needed;
    resize(lease, needed);
    this.#steps.sendBack(lease, lease.counters, units - needed);
  }

  /** Near the end of a quota units rest here only for a moment: another process may have use for them. */
  #isStranded(lease: Lease, restedMs: number): boolean {
    return restedMs >= sweepMs && isNearEnd(remainingInStore(lease));
  }
}
