import { Line } from '../../collections/line.ts';
import type { DrawAnswer, DrawOrder } from '../../stores/ledger.ts';
import { isOutage, StoreUnavailable, unavailable, Unreadable } from '../../stores/store-unavailable.ts';
import { pause } from '../../waiting/clock.ts';
import { turnsFor, WaitingRoom } from '../../waiting/waiting-room.ts';
import type { LedgerAccess } from '../ledger-access.ts';
import type { ReserveOrder } from '../reserve-order.ts';
import type { LeaseSteps } from './lease-steps.ts';
import { type Denial, Reservation, type Lease, type Waiter } from './lease.ts';
import type { StoreTime } from './store-time.ts';

/** A denial is good for this long without asking again. */
const denialMs = 50;
const drawsInVainMax = 8;

/** Draws units for the keys that need some, one draw per lease at a time, and hands them out first come, first served. */
export class LeaseDraws {
  readonly #access: LedgerAccess;
  readonly #time: StoreTime;
  readonly #steps: LeaseSteps;
  readonly #room: WaitingRoom<Waiter>;
  #running = 0;

  constructor(access: LedgerAccess, time: StoreTime, steps: LeaseSteps) {
    this.#access = access;
    this.#time = time;
    this.#steps = steps;
    this.#room = new WaitingRoom({
      clock: access.clock,
      waitMs: access.deadlineMs,
      extraTurns: turnsFor.caller,
      onLate: (waiter) => this.#failWaiter(waiter, unavailable('No units came in time')),
    });
  }

  /** How many leases are being drawn for. */
  get running(): number {
    return this.#running;
  }

  /** Spends units that are held. */
  take(lease: Lease, cost: number, mono: number): Reservation {
    const reservation = lease.take(cost, mono);
    if (lease.isLow && !lease.drawing) this.#startDrawing(lease);
    return reservation;
  }

  /**
   * Puts a request at the end of its key's line, and draws for it. It leaves the line when it is answered or late, or when its
   * client leaves.
   */
  wait(lease: Lease, { cost, whenLeft }: ReserveOrder): Promise<Reservation | Denial> {
    const { promise, resolve, reject } = Promise.withResolvers<Reservation | Denial>();
    const waiter: Waiter = {
      lease,
      cost,
      resolve,
      reject,
      stopListening: undefined,
      inLine: undefined,
      inRoom: undefined,
    };
    lease.waiting ??= new Line();
    waiter.inLine = lease.waiting.join(waiter);
    waiter.inRoom = this.#room.enter(waiter);
    waiter.stopListening = whenLeft?.((reason) => release(waiter).reject(reason));
    if (!lease.drawing) this.#startDrawing(lease);
    return promise;
  }

  /** Hands units of a current lease to the requests in line, first come, first served. */
  serve(lease: Lease, mono: number): void {
    for (let next = lease.waiting?.first; next !== undefined; next = lease.waiting?.first) {
      if (next.cost > lease.units) return;
      release(next).resolve(this.take(lease, next.cost, mono));
    }
  }

  /** Moves the lease to the current periods. Units of other periods go back to those. */
  refresh(lease: Lease, mono: number): void {
    if (lease.isCurrent(this.#time, mono)) return;
    this.#steps.retire(lease);
    lease.enterPeriods(this.#time.latest(mono), this.#time.trust);
  }

  #startDrawing(lease: Lease): void {
    lease.drawing = true;
    this.#running += 1;
    void this.#drawForLine(lease);
  }

  /** Nothing may come between the last look at the line and `drawing = false`. */
  async #drawForLine(lease: Lease): Promise<void> {
    try {
      for (let inVain = 0; inVain < drawsInVainMax;) {
        inVain = (await this.#drawOnce(lease)) ? 0 : inVain + 1;
        if (lease.waiting === undefined) return;
        // After two answers the store's time is known, even if the first was read late. Its clock has yet to reach the new period.
        if (inVain > 2 && inVain < drawsInVainMax) await pause(this.#access.clock, inVain);
      }
      this.#failLine(lease, unavailable('The periods never settled'));
    } catch (error) {
      this.#access.onError(error);
      this.#failLine(lease, error);
    } finally {
      lease.drawing = false;
      if (lease.gone) this.#steps.retire(lease);
      else this.#steps.closeIfOneOfMany(lease, this.#time.tick());
      this.#running -= 1;
    }
  }

  /** True when the line got its answer or part of it; false when the store and the process disagree on the time. */
  async #drawOnce(lease: Lease): Promise<boolean> {
    const inDoubt = this.#steps.drawInDoubt(lease.keyId);
    if (inDoubt !== undefined && !(await this.#undo(lease, inDoubt))) return true;
    const askedAt = this.#time.tick();
    this.refresh(lease, askedAt);
    this.serve(lease, askedAt);
    if (lease.waiting === undefined && !lease.isLow) return true;
    const order = this.#composeDraw(lease, askedAt);
    let answer: DrawAnswer;
    try {
      answer = await this.#access.ledger.draw(order);
    } catch (error) {
      this.#drawFailed(lease, order, askedAt, error);
      return true;
    } finally {
      lease.expectNoMore();
    }
    this.#steps.open.end(order.keyId, order.id);
    this.#time.learn(answer.now, askedAt);
    this.#steps.outbox.storeAnswered();
    if (answer.kind === 'not_current') return false;
    const mono = this.#time.tick();
    if (!lease.isOf(order.counters, this.#time, mono)) {
      if (answer.kind === 'drawn') this.#steps.sendBack(lease, order.counters, answer.units);
      return false;
    }
    if (answer.kind === 'drawn') {
      lease.fill(answer.units, answer.used, order.held);
      this.serve(lease, mono);
      const surplus = lease.takeSurplus();
      if (surplus > 0) this.#steps.sendBack(lease, lease.counters, surplus);
    } else {
      this.#exhausted(lease, order, answer);
    }
    return true;
  }

  /** Where answers are lost, each further draw would take units that come back late. */
  async #undo(lease: Lease, draw: DrawOrder): Promise<boolean> {
    try {
      await this.#steps.undo(draw);
      return true;
    } catch (error) {
      this.#storeFailed(lease, error);
      return false;
    }
  }

  #composeDraw(lease: Lease, mono: number): DrawOrder {
    const { costOfLine } = lease;
    const ahead = this.#sizeAhead(lease, costOfLine, mono);
    const head = lease.waiting?.first;
    const need = head === undefined ? 1 : head.cost - lease.units;
    const held = lease.units - costOfLine;
    const want = Math.max(need, ahead - held);
    lease.beginDraw({ size: ahead, most: held + want }, mono);
    const { keyId, counters } = lease;
    const { id, openFrom } = this.#steps.open.begin(keyId);
    return { id, openFrom, keyId, counters, need, want, holder: this.#access.holder, held };
  }

  #sizeAhead(lease: Lease, costOfLine: number, mono: number): number {
    if (lease.gone || lease.plan.consistency === 'strict' || lease.used === undefined) return 0;
    return lease.sizeAhead(mono, costOfLine);
  }

  #exhausted(lease: Lease, order: DrawOrder, answer: Extract<DrawAnswer, { kind: 'exhausted' }>): void {
    lease.noteExhausted(answer.used);
    const most = lease.units + lease.remainingInStore;
    for (const waiter of lease.waiting?.guests() ?? []) {
      if (waiter.cost <= most) continue;
      release(waiter).resolve(lease.deny(waiter.cost));
    }
    const until = this.#time.tick() + denialMs;
    if (lease.waiting !== undefined) return lease.denyFrom(order.need, until);
    lease.denyFrom(order.need + lease.units, until);
    // Too few units for this request may be enough for another process, or for a cheaper one after it.
    this.#steps.retire(lease);
  }

  #drawFailed(lease: Lease, order: DrawOrder, askedAt: number, error: unknown): void {
    const mayHaveRun = error instanceof StoreUnavailable && error.mayHaveHappened;
    if (!mayHaveRun) this.#steps.open.end(order.keyId, order.id);
    this.#storeFailed(lease, error);
    if (mayHaveRun) this.#steps.cancel(order, askedAt);
  }

  #storeFailed(lease: Lease, error: unknown): void {
    lease.drawNoneAhead();
    if (!(error instanceof StoreUnavailable)) throw error;
    if (!(error instanceof Unreadable)) this.#steps.outbox.storeFailed();
    this.#failLine(lease, error);
  }

  #failLine(lease: Lease, error: unknown): void {
    for (const waiter of lease.waiting?.guests() ?? []) this.#failWaiter(waiter, error);
  }

  #failWaiter(waiter: Waiter, error: unknown): void {
    const { lease, cost, resolve, reject } = release(waiter);
    // Unreadable data stays so until somebody fixes it, and what is owed to it could not be charged.
    const mayOwe = isOutage(error) && lease.plan.onStoreFailure === 'allow';
    if (mayOwe && this.#steps.owed.open(lease.keyId)) resolve(new Reservation(lease, cost, true));
    else reject(error);
  }
}

/** Takes a request out of its line; the caller answers it. */
function release(waiter: Waiter): Waiter {
  const { lease, inLine, inRoom } = waiter;
  waiter.stopListening?.();
  inLine?.leave();
  inRoom?.leave();
  if (lease.waiting?.first === undefined) lease.waiting = undefined;
  return waiter;
}
