import type { PlanRule } from '../../config/plan-rule.ts';
import type { Ledger } from '../../stores/ledger.ts';
import type { LeaseCounts } from '../../telemetry/metrics.ts';
import { type Clock, pause } from '../../waiting/clock.ts';
import { countersAt } from '../counters.ts';
import type { LedgerAccess } from '../ledger-access.ts';
import type { ReserveOrder } from '../reserve-order.ts';
import { readUsage, withoutHeld, type UsageReading } from '../usage-reading.ts';
import { LeaseDraws } from './lease-draws.ts';
import { LeaseSteps } from './lease-steps.ts';
import { LeaseSweep } from './lease-sweep.ts';
import { type Denial, type Reservation, Lease } from './lease.ts';
import { StoreTime } from './store-time.ts';

export interface LeasesOptions extends LedgerAccess {
  /** How many steps may wait for the store's return, and how many keys may owe units until then. */
  readonly stepsMax?: number;
  readonly owingKeysMax?: number;
}

/** A store that is away when the gateway stops is waited for briefly: both may be restarting together. */
const lastTriesMs = 3000;
const lastTriesEveryMs = 100;

/** The units of all keys that this process holds. */
export class Leases {
  readonly time: StoreTime;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  /** Each key's current lease: put in here, taken out by `LeaseSteps`. */
  readonly #book = new Map<string, Lease>();
  readonly #steps: LeaseSteps;
  readonly #draws: LeaseDraws;
  readonly #sweep: LeaseSweep;

  constructor({ stepsMax = 10_000, owingKeysMax = 10_000, ...options }: LeasesOptions) {
    const { clock } = options;
    const book = this.#book;
    const onStep = (): void => this.#sweep.arm();
    this.#ledger = options.ledger;
    this.#clock = clock;
    this.time = new StoreTime(clock);
    this.#steps = new LeaseSteps({ ...options, book, stepsMax, owingKeysMax, onStep });
    this.#draws = new LeaseDraws(options, this.time, this.#steps);
    this.#sweep = new LeaseSweep({ clock, book, time: this.time, steps: this.#steps });
  }

  get counts(): LeaseCounts {
    return {
      leases: this.#book.size,
      owingKeys: this.#steps.owed.size,
      waitingSteps: this.#steps.outbox.sizeWithUnits,
      droppedSteps: this.#steps.outbox.dropped,
    };
  }

  /**
   * Reserves units of all of the plan's quotas: at once when enough are held, otherwise after the one draw of the lease that is in
   * flight. Rejects with `StoreUnavailable` when the store cannot be asked and the plan says `refuse`, or with what `whenLeft` says
   * when the client leaves first. The caller must settle the reservation it gets.
   */
  reserve(order: ReserveOrder): Reservation | Denial | Promise<Reservation | Denial> {
    const mono = this.time.tick();
    const lease = this.#leaseFor(order, mono);
    this.#draws.refresh(lease, mono);
    if (lease.waiting === undefined) {
      if (lease.units >= order.cost) return this.#draws.take(lease, order.cost, mono);
      if (lease.denies(order.cost, mono)) return lease.deny(order.cost);
    }
    return this.#draws.wait(lease, order);
  }

  /**
   * Ends a reservation, once. What it did not spend goes back; what it spent above its units is charged, whatever the limit says.
   */
  settle(reservation: Reservation, spent: number): void {
    if (reservation.owed) this.#steps.owed.close(reservation.lease.keyId, reservation.counters, spent);
    else if (spent < reservation.units) this.#takeBack(reservation, reservation.units - spent);
    else if (spent > reservation.units) this.#charge(reservation, spent - reservation.units);
  }

  /** What is known here of the reservation's key: its lease may have ended since, and another have begun. */
  leaseOf({ lease }: Reservation): Lease {
    const present = lease.gone ? this.#book.get(lease.keyId) : undefined;
    return present?.plan === lease.plan && present.used !== undefined ? present : lease;
  }

  /**
   * What the key has spent, read from the store and less what is held here. Units that other processes hold count as
   * spent. Rejects with `StoreUnavailable`.
   */
  async read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]> {
    const askedAt = this.time.tick();
    if (!this.time.isKnown) this.time.learn(await this.#ledger.readTime(keyId), askedAt);
    const at = this.time.latest(this.time.tick());
    const before = this.#heldAt(keyId, plan, at);
    const readings = await readUsage(this.#ledger, keyId, countersAt(plan, at));
    // What was drawn meanwhile may not be in the reading: never tell less than was used.
    const held = Math.min(before, this.#heldAt(keyId, plan, at));
    return readings.map((reading) => withoutHeld(reading, held));
  }

  #heldAt(keyId: string, plan: PlanRule, at: number): number {
    const lease = this.#book.get(keyId);
    return lease?.plan === plan ? lease.unitsAt(at) : 0;
  }

  /** Gives back all that is held and charges what is owed. Resolves when the store has taken it all, or nothing for too long. */
  async drain(): Promise<void> {
    const { outbox, owed } = this.#steps;
    let until = this.#clock.mono() + lastTriesMs;
    for (;;) {
      this.#steps.chargeOwed();
      this.#closeSome();
      const before = outbox.size;
      await this.#flushUntil(until);
      if (owed.size + outbox.size + this.#book.size + this.#draws.running === 0) return;
      // While the store takes something, what is left or found no room follows.
      if (outbox.size < before) until = this.#clock.mono() + lastTriesMs;
      else if (this.#clock.mono() >= until) break;
      else await pause(this.#clock, lastTriesEveryMs);
    }
    for (const lease of this.#book.values()) this.#steps.abandon(lease);
  }

  /** Empties the outbox, until that time at most: a call may wait for a silent store until its deadline. */
  async #flushUntil(until: number): Promise<void> {
    const timeIsUp = pause(this.#clock, Math.max(0, until - this.#clock.mono()));
    await Promise.race([this.#steps.outbox.flush(), timeIsUp]);
  }

  /** As many as there is room for: with more, what the first leases hold would be dropped in favour of the last. */
  #closeSome(): void {
    for (const lease of this.#book.values()) {
      if (!this.#steps.outbox.hasRoom) return;
      this.#steps.close(lease);
    }
  }

  /**
   * A key may come under two plans at once: one in the file and one in the store share their id, or some of the key's secrets
   * have not heard of a change. Waiters came under the plan of the lease, so another plan has another lease.
   */
  #leaseFor(order: ReserveOrder, mono: number): Lease {
    const known = this.#book.get(order.keyId);
    if (known?.plan === order.plan) return known;
    if (known !== undefined) this.#steps.close(known);
    const lease = new Lease(order.keyId, order.plan, mono);
    this.#book.set(order.keyId, lease);
    this.#sweep.arm();
    return lease;
  }

  #takeBack(reservation: Reservation, units: number): void {
    const mono = this.time.tick();
    const lease = this.#liveLeaseOf(reservation, mono);
    if (lease === undefined) {
      this.#steps.sendBack(reservation.lease, reservation.counters, units);
      return;
    }
    if (lease.waiting !== undefined || this.#mayKeep(lease, units, mono)) {
      lease.putBack(units);
      this.#draws.serve(lease, mono);
    } else {
      this.#steps.sendBack(lease, reservation.counters, units);
    }
    lease.endDenial();
  }

  /** Units held here pay first. A key that owes more is left with none, so that its next request asks the store. */
  #charge(reservation: Reservation, units: number): void {
    const lease = this.#liveLeaseOf(reservation, this.time.tick());
    const paid = lease?.pay(units) ?? 0;
    if (paid === units) return;
    lease?.noteUsed(units - paid);
    this.#steps.charge(reservation.lease.keyId, reservation.counters, units - paid);
  }

  /** The lease that spends units of the reservation's counters: its own, or the one that its key has had since that ended. */
  #liveLeaseOf({ lease, counters }: Reservation, mono: number): Lease | undefined {
    const present = this.#book.get(lease.keyId);
    return present?.isOf(counters, this.time, mono) === true ? present : undefined;
  }

  /** Whether units that come back may stay here: never near the end, unless a request was just turned away here. */
  #mayKeep(lease: Lease, units: number, mono: number): boolean {
    if (lease.plan.consistency === 'strict') return false;
    if (lease.hasDenied(mono)) return true;
    return lease.units + units <= lease.size && !lease.isNearEnd;
  }
}
